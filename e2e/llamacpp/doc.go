// Package llamacpp tests llama.cpp's real server, alone and behind Envoy with the filter, with the puppet of package
// engines. The server's HTTP, its sampling, its cache and its events are the real ones. Only the answers are scripted.
//
// It knows what the server answers. It does not know how it is started.
package llamacpp
