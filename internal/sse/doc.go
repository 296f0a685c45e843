// Package sse cuts a stream of server-sent events into events, wherever the network cut its bytes.
//
// It knows lines and fields, not what any event says.
package sse
