// Package exchange is one request and its response: the client's bytes and the server's bytes go in, what to do with
// them comes out.
//
// It knows the order in which a proxy hands it headers and bodies, not which proxy that is; time is an argument.
package exchange
