// Package llamacpp runs llama.cpp's real server for tests, with a model that writes what its prompt asks for: the
// puppet. The server's HTTP, its sampling, its cache and its events are the real ones. Only the answers are scripted.
//
// It knows how the server is started and what prompts the puppet needs. It does not know the gateway.
//
// tools/install-llamacpp.sh builds the server and has puppet.py write the model.
package llamacpp
