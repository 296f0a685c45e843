// Package turn makes a response: it reads a request, asks the model, runs the tools that it calls, and makes the
// events and the object that the client gets.
//
// It knows the gateway, the servers of tools, and what is stored of a turn. It does not know HTTP to clients,
// connections, leases, or when a response in the background is made.
package turn
