//go:build llamacpp

package llamacpp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
)

// startLimit is how long the server may take to serve, and answerLimit how long an answer may take, on a busy machine.
const (
	startLimit  = time.Minute
	answerLimit = 2 * time.Minute
)

func start(t *testing.T, slots, contextLength int, arguments ...string) *engines.LlamaCPP {
	t.Helper()
	folder := os.Getenv("HARMONY_LLAMACPP")
	if folder == "" {
		t.Fatal("HARMONY_LLAMACPP is not set: run the tests by `make test-llamacpp`")
	}
	s, err := engines.StartLlamaCPP(t.Context(), engines.LlamaCPPOptions{
		Path: folder + "/llama-server", Model: folder + "/puppet.gguf",
		Slots: slots, ContextLength: contextLength, Arguments: arguments, ReadyTimeout: startLimit,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("llama-server says:\n%s", s.Log())
		}
	})
	return s
}

// event is an event of a stream of /completion, and also its whole answer.
type event struct {
	Content         string   `json:"content"`
	Tokens          []uint32 `json:"tokens"`
	Stop            bool     `json:"stop"`
	StopType        string   `json:"stop_type"`
	Truncated       bool     `json:"truncated"`
	TokensPredicted int      `json:"tokens_predicted"`
	TokensEvaluated int      `json:"tokens_evaluated"`
	Timings         *timings `json:"timings"`
}

type timings struct {
	CacheN  int `json:"cache_n"`
	PromptN int `json:"prompt_n"`
}

// ask is a request to /completion that gives sampling every chance to miss. more adds or replaces members.
func ask(prompt []uint32, more map[string]any) map[string]any {
	body := map[string]any{
		"prompt": prompt, "stream": true, "temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0,
	}
	maps.Copy(body, more)
	return body
}

// client opens a connection for each request: the server closes a stream's connection behind it
// (TestConnectionOfStream).
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// post sends a request. Its answer ends with the test, or with ctx.
func post(ctx context.Context, t *testing.T, url string, body map[string]any) *http.Response {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("content-type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func readAll(t *testing.T, response *http.Response) []byte {
	t.Helper()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// complete returns the whole answer to a request.
func complete(t *testing.T, s *engines.LlamaCPP, body map[string]any) event {
	t.Helper()
	response := post(t.Context(), t, s.URL+"/completion", body)
	data := readAll(t, response)
	var e event
	if err := json.Unmarshal(data, &e); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v: %s", response.Status, err, data)
	}
	return e
}

// stream returns the events of the answer to a request.
func stream(t *testing.T, s *engines.LlamaCPP, body map[string]any) []event {
	t.Helper()
	response := post(t.Context(), t, s.URL+"/completion", body)
	data := readAll(t, response)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", response.Status, data)
	}
	var events []event
	for text := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n\n"), "\n\n") {
		text, ok := strings.CutPrefix(text, "data: ")
		var e event
		if err := json.Unmarshal([]byte(text), &e); err != nil || !ok {
			t.Fatalf("event %d, %v: %q", len(events), err, text)
		}
		events = append(events, e)
	}
	return events
}
