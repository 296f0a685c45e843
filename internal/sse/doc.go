// Package sse splits a stream of server-sent events, or of lines, into events, wherever the network has cut its bytes.
//
// It knows lines and fields. It does not know what any event means.
package sse
