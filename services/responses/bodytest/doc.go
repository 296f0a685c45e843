// Package bodytest has bodies with which tests of the responses service try to take more memory than their size tells.
//
// It knows JSON and the API's members. It does not know what the service does with them.
package bodytest
