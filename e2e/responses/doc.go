// Package responses has the tests of the responses service, behind a gateway and with its databases.
//
// It knows what clients see of stored responses. It does not know how they are stored.
package responses
