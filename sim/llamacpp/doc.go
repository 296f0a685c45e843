// Package llamacpp has the paths and the bytes of llama.cpp's server.
//
// It knows llama.cpp's contract. It does not know how requests are scheduled, and no other kind of server.
package llamacpp
