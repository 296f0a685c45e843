//go:build llamacpp

package llamacpp

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
)

var update = flag.Bool("update-captures", false, "write testdata again")

// capture is a request whose answer is kept in testdata.
type capture struct {
	name, path string
	body       any // nil is a GET; a string is sent as it is
}

// cachedAnswer is the one capture whose request is sent twice. Only its prompt comes out of the cache, so each capture
// is the same without those before it.
const cachedAnswer = "cached-stream"

// captureContext is the context length of the server whose answers are kept.
const captureContext = 1024

// captures lists the requests. Their answers have everything that a reader of answers has to know of this server.
func captures(t *testing.T) []capture {
	t.Helper()
	long, err := engines.Prompt(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	long = append(long, long...)
	scripted := func(name string) []uint32 {
		at := slices.IndexFunc(engines.Scripts, func(s engines.Script) bool { return s.Name == name })
		prompt, err := engines.Prompt(engines.Scripts[at].IDs, engines.GenerationPrompt)
		if err != nil {
			t.Fatal(err)
		}
		return prompt
	}
	final := scripted("final")
	type more = map[string]any
	var list []capture
	both := func(name string, prompt []uint32, with more) {
		list = append(list, capture{name + "-stream", "/completion", uncached(prompt, with)},
			capture{name, "/completion", uncached(prompt, with, more{"stream": false, "return_tokens": true})})
	}
	whole := func(name string, body any) { list = append(list, capture{name, "/completion", body}) }

	both("final", final, nil)
	both("call", scripted("call"), nil)
	both("several-bytes", scripted("several bytes"), nil)
	both("end-of-text", scripted("end of text"), nil)
	both("half-character", scripted("half a character, then a call"), nil)
	both("preserved-final", final, more{"preserved_tokens": ends})
	both("preserved-call", scripted("call"), more{"preserved_tokens": ends})
	both("preserved-half-character", scripted("half a character, then a call"), more{"preserved_tokens": ends})
	both("limit", final, more{"n_predict": 4})
	both("context-limit", long[:captureContext-3], nil)
	both("stop-string", final, more{"stop": []string{"there"}})
	both("logprobs", final, more{"n_probs": 1})
	list = append(list,
		capture{cachedAnswer, "/completion", ask(final, nil)},
		capture{"progress-stream", "/completion", uncached(final, more{"return_progress": true})},
		capture{"v1-stream", "/v1/completions", uncached(final, more{"stream_options": more{"include_usage": true}})},
		capture{"v1", "/v1/completions", uncached(final, more{"stream": false})},
		capture{"v1-preserved-stream", "/v1/completions", uncached(final, more{"preserved_tokens": ends, "logprobs": 1})})

	// A grammar that names the end of an answer fails when that is to be said: the stream has begun by then.
	both("error-later", final, more{"grammar": `root ::= <[200005]> "final" <[200008]> "Hi there." <[200002]> "."`})
	both("error-id-too-large", []uint32{201088}, nil)
	both("error-context", long, nil)
	whole("error-id-negative", more{"prompt": []int{-1}})
	whole("error-empty-prompt", more{"prompt": []int{}})
	whole("error-no-prompt", more{"stream": true})
	whole("error-type", more{"prompt": []int{1}, "temperature": "hot"})
	whole("error-grammar", more{"prompt": []int{1}, "grammar": "root"})
	whole("error-choices", more{"prompt": []int{1}, "n": 2})
	whole("error-json", `{"prompt":[1`)
	list = append(list,
		capture{"tokenize", "/tokenize", more{"content": "Hello, world! <|start|>", "add_special": false}},
		capture{"tokenize-nothing", "/tokenize", more{"prompt": "Hello"}},
		capture{"tokenize-type", "/tokenize", more{"content": 7}})
	list = append(list, capture{"error-path", "/inference/v1/generate", more{}},
		capture{"health", "/health", nil}, capture{"models", "/v1/models", nil}, capture{"props", "/props", nil})
	return list
}

// uncached is a request whose answer does not depend on the requests before it.
func uncached(prompt []uint32, with ...map[string]any) map[string]any {
	body := ask(prompt, map[string]any{"cache_prompt": false})
	for _, more := range with {
		maps.Copy(body, more)
	}
	return body
}

// TestCaptures compares the server's answers with those in testdata, apart from what differs each time.
// -update-captures writes them.
func TestCaptures(t *testing.T) {
	s := start(t, 1, captureContext)
	list := captures(t)
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) { checkCapture(t, s, c) })
	}
	if t.Failed() {
		return
	}
	files, err := filepath.Glob("testdata/*.response")
	if err != nil || len(files) != len(list) {
		t.Errorf("testdata has %d answers (%v) to %d requests", len(files), err, len(list))
	}
}

func checkCapture(t *testing.T, s *engines.LlamaCPP, c capture) {
	t.Helper()
	request, body := captured(t, s, c)
	if c.name == cachedAnswer {
		stream(t, s, c.body.(map[string]any))
	}
	response, err := client.Do(request.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer bytes.Buffer
	fmt.Fprintf(&answer, "HTTP/1.1 %s\n", response.Status)
	response.Header.Del("content-length") // of a body with other timings each time
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		fmt.Fprintf(&answer, "%s: %s\n", name, response.Header.Get(name))
	}
	fmt.Fprintln(&answer)
	if _, err := io.Copy(&answer, response.Body); err != nil {
		t.Fatal(err)
	}
	keep(t, c.name+".request", fmt.Appendf(nil, "%s %s HTTP/1.1\n\n%s", request.Method, request.URL.Path, body))
	keep(t, c.name+".response", bytes.ReplaceAll(answer.Bytes(), []byte(os.Getenv("HARMONY_LLAMACPP")), []byte("/models")))
}

func captured(t *testing.T, s *engines.LlamaCPP, c capture) (*http.Request, []byte) {
	t.Helper()
	method, body := http.MethodPost, []byte(nil)
	switch with := c.body.(type) {
	case nil:
		method = http.MethodGet
	case string:
		body = []byte(with)
	default:
		var err error
		if body, err = json.Marshal(with); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequest(method, s.URL+c.path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		request.Header.Set("content-type", "application/json")
	}
	return request, body
}

// each is what differs in the same answer from one time to the next: how long it took, when, its name.
var each = regexp.MustCompile(`"timings":\{[^}]*\}|"time_ms":\d+|"created":\d+|"id":"chatcmpl-[^"]*"` +
	`|"logprob":[-+.e\d]+|<__media_\w+__>`)

// keep compares data with a file of testdata, or writes that.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := each.ReplaceAllString(string(data), ""), each.ReplaceAllString(string(want), ""); got != want {
		t.Errorf("%s:\n got %s\nwant %s", name, got, strings.TrimSpace(want))
	}
}
