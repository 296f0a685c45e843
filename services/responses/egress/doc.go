// Package egress says which URLs clients of the responses service may name, and which addresses the service may dial
// for them. Its HTTP clients keep to that: they check the address that is really dialled, and follow no redirect.
//
// It knows URLs, addresses and HTTP. It does not know what is asked, by whom, or with which credentials.
package egress
