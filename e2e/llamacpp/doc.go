// Package llamacpp runs llama.cpp's real server for tests, with the puppet of package engines. The server's HTTP, its
// sampling, its cache and its events are the real ones. Only the answers are scripted.
//
// It knows how the server is started and what it answers. It does not know the gateway.
//
// tools/install-llamacpp.sh builds the server.
package llamacpp
