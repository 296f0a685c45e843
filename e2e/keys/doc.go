// Package keys tests clients' keys and their limits: who is let in, what servers, logs and a rate limit service learn of
// clients, and what the responses service asks for them.
//
// It knows the form of keys files and the rate limit protocol. It does not know how a service counts: its own is a stub.
package keys
