//go:build e2e

package lab

import (
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

// RunSim runs a simulated server, and returns its URL too. Without other models it serves [Model].
func RunSim(t *testing.T, o sim.Options) (*sim.Server, string) {
	t.Helper()
	if o.Models == nil {
		o.Models = []string{Model}
	}
	s := sim.New(o)
	t.Cleanup(s.Close)
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return s, url
}

// ReadScript reads a script for a simulated server from a file, named by its path from the repository's root.
func ReadScript(t *testing.T, name string) *sim.Script {
	t.Helper()
	text, err := os.Open(File(name))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	script, err := sim.ReadScript(text, Vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// Vocabulary is the tokenizer of gpt-oss.
var Vocabulary = o200k.Tokenizer()

// SixWords is an answer of six words, as a model writes it.
const SixWords = "<|channel|>final<|message|>one two three four five six<|return|>"

// Tokens returns the ids of Harmony text.
func Tokens(text string) []uint32 { return Vocabulary.AppendEncodeSpecial(nil, text) }

// Completions returns the requests for completions that a server received, without the probes of the control plane.
func Completions(s *sim.Server) []sim.Request {
	return slices.DeleteFunc(slices.Clone(s.Requests()), func(r sim.Request) bool {
		return r.Method != http.MethodPost || r.Path == "/tokenize"
	})
}
