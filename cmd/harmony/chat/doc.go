// Package chat has the command chat, which talks to a gateway in the terminal as a client does.
//
// It must not know the gateway's own parts: it has nothing but the public API.
package chat
