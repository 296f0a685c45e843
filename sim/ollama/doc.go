// Package ollama has the paths and the lines of Ollama.
//
// It knows Ollama's contract. It does not know how requests are scheduled, and no other kind of server.
package ollama
