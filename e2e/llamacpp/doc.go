// Package llamacpp runs llama.cpp's real server for tests, before a model that says what its prompt tells it to say: the
// puppet. The server's HTTP, its sampling, its cache and its events are the real ones; only the answers are scripted.
//
// It knows how the server is started and what the puppet has to be sent, and nothing of the gateway.
//
// tools/install-llamacpp.sh builds the server and has puppet.py write the model.
package llamacpp
