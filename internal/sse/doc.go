// Package sse splits a stream of server-sent events into events, and a stream of lines into lines, wherever the network
// has cut its bytes.
//
// It knows lines and fields. It does not know what any event means.
package sse
