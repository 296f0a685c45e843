//go:build e2e

package lab

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
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

// Render returns what a simulated server of [sim.VLLMRender] makes of a conversation.
func Render(t *testing.T, conversation string) []byte {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, contract.RenderPath,
		strings.NewReader(conversation))
	r.Header.Set("Content-Type", "application/json")
	s := sim.New(sim.Options{Kind: sim.VLLMRender, Models: []string{Model}})
	defer s.Close()
	if s.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// Completions returns the requests for completions that a server received, without the probes of the control plane.
func Completions(s *sim.Server) []sim.Request {
	return slices.DeleteFunc(slices.Clone(s.Requests()), func(r sim.Request) bool {
		return r.Method != http.MethodPost || r.Path == "/tokenize" || r.Path == contract.RenderPath
	})
}
