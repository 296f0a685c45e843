// Package input reads what a client has sent: who asks, the request, and its items with those that it refers to.
//
// It knows the API's requests, the memory that reading takes, and where items are stored. It does not know what
// becomes of a request.
package input
