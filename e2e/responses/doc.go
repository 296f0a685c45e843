// Package responses has the tests of the responses service, behind a gateway and with its databases.
//
// It knows what clients see of stored responses, and how to break what keeps them. It does not know how they are made.
package responses
