// Package engines starts real inference servers for tests, with a model that writes what its prompt asks for: the
// puppet. The servers' HTTP, their sampling, caches and events are the real ones. Only the answers are scripted.
//
// It knows how a server is started and ended, and what prompts the puppet needs. It does not know what is tested.
//
// The scripts tools/install-*.sh install the servers, and have the programs in the folder puppet write the model.
package engines
