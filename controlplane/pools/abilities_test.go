package pools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// asked returns a pool with one server whose abilities are asked for.
func asked(t *testing.T, e *fakeEngine, kind string) Pool {
	p := refusable(t, e, "")
	p.Kind, p.Path = kind, contract.KindNamed(kind).Path
	p.AsksIDs, p.AsksTags = true, true
	return p
}

// before answers as a simulated server to what change makes of the body of each request.
func before(t *testing.T, kind string, change func(body map[string]any)) http.HandlerFunc {
	s := sim.New(sim.Options{Kind: kind, Models: []string{"m"}})
	t.Cleanup(s.Close)
	return func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		text, err := io.ReadAll(r.Body)
		if err == nil && json.Unmarshal(text, &body) == nil {
			change(body)
			text, _ = json.Marshal(body)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		s.Handler().ServeHTTP(w, r)
	}
}

// refusesIf answers with a status to requests whose body contains a text, and otherwise as another handler.
func refusesIf(contains string, status int, otherwise http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if len(text) == 0 || bytes.Contains(text, []byte(contains)) {
			replies(status, `{"error":{"message":"No."}}`)(w, r)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		otherwise(w, r)
	}
}

// refusesInStream answers as vLLM does to a stream's request that it refuses after it has looked at the prompt: with 200
// and an error event. It refuses requests whose body contains a text.
func refusesInStream(contains string, status int, otherwise http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if bytes.Contains(text, []byte(contains)) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"error\": {\"message\": \"No.\", \"code\": %d}}\n\ndata: [DONE]\n\n", status)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		otherwise(w, r)
	}
}

// TestAbilities checks what servers are found to do with token ids and with structural tags, by the filter's own
// requests.
func TestAbilities(t *testing.T) {
	whole := func(map[string]any) {}
	lose := func(names ...string) func(map[string]any) {
		return func(body map[string]any) {
			for _, name := range names {
				delete(body, name)
			}
		}
	}
	loseParameter := func(body map[string]any) {
		if sampling, ok := body["sampling_params"].(map[string]any); ok {
			delete(sampling, "structural_tag")
		}
	}
	const see = "; see docs/routers.md"
	for _, tt := range []struct {
		name, kind string
		server     http.HandlerFunc
		tags       Tags
		refusal    Refusal
		reason     string
	}{
		{"vllm", contract.VLLM, before(t, sim.VLLM, whole), TagsHeld, "", ""},
		{"vllm-generate", contract.VLLMGenerate, before(t, sim.VLLMGenerate, whole), TagsHeld, "", ""},
		{"sglang", contract.SGLang, before(t, sim.SGLang, whole), TagsHeld, "", ""},
		{"sglang-completions", contract.SGLangCompletions, before(t, sim.SGLangCompletions, whole), TagsHeld, "", ""},
		{"trtllm", contract.TRTLLM, before(t, sim.TRTLLM, whole), TagsHeld, "", ""},
		{"the tag is dropped", contract.VLLM, before(t, sim.VLLM, lose("structured_outputs")), TagsDropped, "", ""},
		{"SGLang behind a router", contract.SGLang, before(t, sim.SGLang, loseParameter), TagsDropped, "", ""},
		{"the tag is refused", contract.VLLM, refusesIf("structural_tag", 400, before(t, sim.VLLM, whole)), TagsRefused, "",
			""},
		{"the tag is refused in a stream", contract.VLLM, refusesInStream("structural_tag", 400,
			before(t, sim.VLLM, whole)), TagsRefused, "", ""},
		{"the same of vllm-generate", contract.VLLMGenerate, refusesInStream("structural_tag", 400,
			before(t, sim.VLLMGenerate, whole)), TagsRefused, "", ""},
		{"no ids are taken in a stream", contract.VLLM, refusesInStream("prompt", 400, before(t, sim.VLLM, whole)),
			TagsNotAsked, RefusesIDs, "answers 400 to POST /v1/completions with a prompt of token ids" + see},
		{"no ids are taken", contract.VLLM, replies(422, `{"detail":[]}`), TagsNotAsked, RefusesIDs,
			"answers 422 to POST /v1/completions with a prompt of token ids" + see},
		{"no ids are returned", contract.VLLM, before(t, sim.VLLM, lose("return_token_ids")), TagsNotAsked, RefusesIDs,
			"its answer to POST /v1/completions has no token ids" + see},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := newEngine(t)
			paths(engine, tt.server)
			w, log := watcher(t, nil)
			must(t, w.Set([]Pool{asked(t, engine, tt.kind)}))
			eventually(t, "an answer", func() bool {
				s := server(t, w)
				return s.Tags == tt.tags && s.Refusal == tt.refusal &&
					(s.State == Ready || s.State == NotReady && tt.refusal != "")
			})
			if s := server(t, w); s.Reason != tt.reason {
				t.Errorf("got %q, want %q", s.Reason, tt.reason)
			}
			w.Close()
			if says := log.count("does not hold answers to structural tags"); says > 1 || (says == 1) != tt.tags.Lost() {
				t.Errorf("the log says %d times that tags are lost:\n%s", says, log)
			}
		})
	}
}

// paths makes an engine answer all paths but the list of models as a server does.
func paths(e *fakeEngine, server http.HandlerFunc) {
	e.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !strings.HasSuffix(r.URL.Path, "tokenize") {
			server(w, r)
			return
		}
		e.ServeHTTP(w, r)
	})
}

// TestAbilitiesOfStrangers checks that a server which lists other models is asked where it gets requests all the same.
func TestAbilitiesOfStrangers(t *testing.T) {
	engine := newEngine(t)
	engine.set(listsModels("unknown"))
	paths(engine, before(t, sim.VLLM, func(body map[string]any) { delete(body, "structured_outputs") }))
	w, _ := watcher(t, nil)
	p := asked(t, engine, contract.VLLM)
	p.AnyModels = true
	must(t, w.Set([]Pool{p}))
	eventually(t, "the finding", func() bool { return server(t, w).Tags == TagsDropped })
}

// TestAbilitiesAgain checks that a server which is exchanged for one without a router is asked again, and that one
// which does not answer the question counts as it was.
func TestAbilitiesAgain(t *testing.T) {
	var dropping, busy atomic.Bool
	dropping.Store(true)
	whole := before(t, sim.VLLM, func(body map[string]any) {
		if dropping.Load() {
			delete(body, "structured_outputs")
		}
	})
	engine := newEngine(t)
	paths(engine, func(w http.ResponseWriter, r *http.Request) {
		if busy.Load() {
			replies(503, "")(w, r)
			return
		}
		whole(w, r)
	})
	w, _ := watcher(t, nil)
	must(t, w.Set([]Pool{asked(t, engine, contract.VLLM)}))
	is := func(tags Tags) func() bool { return func() bool { return server(t, w).Tags == tags } }
	eventually(t, "the finding", is(TagsDropped))
	busy.Store(true)
	engine.set(listsModels("m", "n")) // another list: the server was started again
	eventually(t, "another identity", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		m := w.pools["p"].members[0]
		return m.identified != nil && len(m.identified.facts.Models) == 2 && m.asking.failures > 0
	})
	if got := server(t, w).Tags; got != TagsDropped {
		t.Errorf("a server that does not answer the question is %s", got)
	}
	busy.Store(false)
	dropping.Store(false)
	engine.set(listsModels("m"))
	eventually(t, "the other finding", is(TagsHeld))
}
