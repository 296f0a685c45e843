// Package backend reads and writes the wire formats of inference servers. The token ids or the text of a prompt go in, and
// events with generated token ids or text come out.
//
// It knows the servers' JSON. It does not know Harmony's messages or the OpenAI API of the client.
package backend
