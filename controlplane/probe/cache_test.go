package probe

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestKeepsWritten probes a vLLM that tells cached tokens in each of its ways, or not at all.
func TestKeepsWritten(t *testing.T) {
	counts := func(queries, hits int) string {
		return fmt.Sprintf("vllm:prefix_cache_queries_total{engine=\"0\"} %d.0\n"+
			"vllm:prefix_cache_hits_total{engine=\"0\"} %d.0\n", queries, hits)
	}
	for name, tt := range map[string]struct {
		told func(prompt int) string // how many tokens the answer says were cached, if it does
		// The counters before and after the second request, whose prompt has so many tokens.
		before string
		after  func(prompt int) string
		keeps  bool
		why    string
	}{
		"told in the answer": {
			told: func(prompt int) string { return fmt.Sprint(prompt - 60) }, keeps: true,
		},
		"the end of the prompt only, told in the answer": {told: func(int) string { return "256" }},
		"nothing found": {told: func(int) string { return "0" }},
		"counted": {before: counts(1000, 10), after: func(prompt int) string { return counts(1000+prompt, 10+prompt-60) },
			keeps: true},
		"the end of the prompt only, counted": {before: counts(1000, 10),
			after: func(prompt int) string { return counts(1000+prompt, 10+256) }},
		"counted beside other requests": {before: counts(1000, 10),
			after: func(prompt int) string { return counts(2000+prompt, 500) }, why: "it has other requests"},
		"neither": {why: "it tells no cached tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sim.New(sim.Options{PromptTokensDetails: tt.told != nil,
				Script: script(t, strings.Repeat("one more ", 200))})
			t.Cleanup(s.Close)
			second := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // the simulated server says that it is cut short
				r.Body = io.NopCloser(bytes.NewReader(body))
				again := bytes.Count(body, []byte(",")) > 600
				switch {
				case again:
					second = bytes.Count(idList.Find(body), []byte(",")) + 1
					kept := httptest.NewRecorder()
					s.Handler().ServeHTTP(kept, r)
					answer := kept.Body.Bytes()
					if tt.told != nil {
						answer = cachedTokens.ReplaceAll(answer, []byte(`"cached_tokens":`+tt.told(second)))
					}
					w.Header().Set("Content-Type", kept.Header().Get("Content-Type"))
					_, _ = w.Write(answer)
				case r.URL.Path == "/metrics" && second == 0:
					_, _ = io.WriteString(w, tt.before)
				case r.URL.Path == "/metrics" && tt.after != nil:
					_, _ = io.WriteString(w, tt.after(second))
				case r.URL.Path == "/metrics":
				default:
					s.Handler().ServeHTTP(w, r)
				}
			}))
			t.Cleanup(server.Close)
			r, err := Server(t.Context(), Options{URL: server.URL, Transport: &http.Transport{DisableKeepAlives: true}})
			if err != nil {
				t.Fatal(err)
			}
			c := r.Cache
			if c == nil || r.Kind().Name != contract.VLLM || c.KeepsWritten() != tt.keeps ||
				!strings.Contains(c.Problem, tt.why) || (c.Problem == "") != (tt.why == "") || c.Written != cacheWritten {
				t.Errorf("got %+v", c)
			}
		})
	}
}

var idList = regexp.MustCompile(`"prompt":\[[0-9,]*\]`)

// TestKeepsNothingKnown has a server that ignores min_tokens, and a model that ends its answer early.
func TestKeepsNothingKnown(t *testing.T) {
	s := sim.New(sim.Options{Script: script(t, "Short.")})
	t.Cleanup(s.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the simulated server says that it is cut short
		body = bytes.ReplaceAll(body, fmt.Appendf(nil, `"min_tokens":%d,`, cacheWritten), nil)
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r, err := Server(t.Context(), Options{URL: server.URL, Transport: &http.Transport{DisableKeepAlives: true}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Cache == nil || r.Cache.KeepsWritten() || !strings.Contains(r.Cache.Problem, "the model wrote only") {
		t.Errorf("got %+v", r.Cache)
	}
}

// script is a model that says this as its final answer.
func script(t *testing.T, text string) *sim.Script {
	t.Helper()
	line := fmt.Sprintf(`{"match":"Count as far","text":%q}`, "<|channel|>final<|message|>"+text+"<|return|>")
	s, err := sim.ReadScript(strings.NewReader(line), o200k.Tokenizer())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
