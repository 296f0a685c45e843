package pools

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// refusable returns the pool p with a server of the kind vllm that must take requests on /v1/completions.
func refusable(t *testing.T, e *fakeEngine, authorization string) Pool {
	p := Pool{Name: "p", Servers: []config.Endpoint{e.endpoint(t)}, Models: []string{"m"}, Kind: contract.VLLM,
		Path: contract.CompletionsPath}
	if authorization != "" {
		p.Authorization, p.AuthorizationName = "Bearer "+authorization, "engine-key"
	}
	return p
}

// TestRefusals checks which servers are not ready because they refuse all requests, before they were ever ready.
func TestRefusals(t *testing.T) {
	const (
		post    = " to POST /v1/completions: "
		refuses = `it refuses the authorization "engine-key"`
		lacks   = "the kind vllm may be wrong; ask harmony probe URL"
	)
	list, missing := listsModels("m"), `{"error":{"message":"No provider is available.","code":404}}`
	for _, c := range []struct {
		name            string
		lists, complete func(http.ResponseWriter, *http.Request)
		authorization   string
		alter           func(*Pool)
		state           State
		reason          string
		refusal         Refusal
	}{
		{"invalid", list, replies(400, ""), "key", nil, Ready, "", ""},
		{"unprocessable", list, replies(422, `{"detail":[]}`), "", nil, Ready, "", ""},
		{"it answers", list, replies(200, `{}`), "", nil, Ready, "", ""},
		{"overloaded", list, replies(503, ""), "", nil, Ready, "", ""},
		{"silent", list, repliesRaw(""), "", nil, Ready, "", ""},
		{"the key, on both paths", replies(401, ""), replies(401, ""), "key", nil, NotReady, "answers 401" + post + refuses,
			RefusesKey},
		{"the key, but not for the list", list, replies(403, ""), "key", nil, NotReady, "answers 403" + post + refuses,
			RefusesKey},
		{"a key is wanted", list, replies(401, ""), "", nil, NotReady,
			"answers 401" + post + "it wants a key, and its pool has no authorization", RefusesKey},
		{"the list alone", replies(401, ""), replies(400, ""), "key", nil, Unknown, "answers 401 to GET /v1/models", ""},
		{"a proxy without the list", replies(404, ""), replies(400, ""), "", nil, Unknown, "answers 404 to GET /v1/models",
			""},
		{"clients' keys", list, replies(401, ""), "", func(p *Pool) { p.ClientsKeys = true }, Ready, "", ""},
		{"clients' keys, no path", list, nil, "", func(p *Pool) { p.ClientsKeys = true }, NotReady,
			"answers 404" + post + lacks, LacksPath},
		{"no path", list, nil, "", nil, NotReady, "answers 404" + post + lacks, LacksPath},
		{"no path, FastAPI", list, replies(404, `{"detail":"Not Found"}`), "key", nil, NotReady, "answers 404" + post + lacks,
			LacksPath},
		{"no such method", list, replies(405, `{"detail":"Method Not Allowed"}`), "key", nil, NotReady,
			"answers 405" + post + lacks, LacksPath},
		{"no path and no list", replies(404, ""), nil, "", nil, NotReady, "answers 404" + post + lacks, LacksPath},
		{"something else is not found", list, replies(404, missing), "", nil, Ready, "", ""},
		{"--enable-scale-out", list, replies(403, "{}"), "", func(p *Pool) { p.Kind = contract.VLLMGenerate }, NotReady,
			"answers 403" + post + "vLLM serves it only with --enable-scale-out", LacksPath},
		{"not asked for models", nil, replies(401, ""), "key", func(p *Pool) { p.Models = nil }, NotReady,
			"answers 401" + post + refuses, RefusesKey},
		{"not asked for models, well", nil, replies(400, ""), "key", func(p *Pool) { p.Models = nil }, Unknown, "", ""},
		{"not asked for the path", list, replies(401, ""), "key", func(p *Pool) { p.Path = "" }, Ready, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			engine := newEngine(t)
			if c.lists == nil {
				c.lists = replies(500, "")
			}
			engine.set(c.lists)
			engine.serve(c.complete)
			w, log := watcher(t, nil)
			p := refusable(t, engine, c.authorization)
			if c.alter != nil {
				c.alter(&p)
			}
			must(t, w.Set([]Pool{p}))
			eventually(t, "an answer", func() bool { return server(t, w).Reason != NotAsked })
			s := server(t, w)
			if reason := strings.ReplaceAll(c.reason, "URL", engine.URL); s.State != c.state || s.Reason != reason ||
				s.Refusal != c.refusal {
				t.Errorf("got %s %q, refusal %q, want %s %q", s.State, s.Reason, s.Refusal, c.state, reason)
			}
			w.Close()
			if strings.Contains(log.String(), "Bearer") {
				t.Errorf("the log has the key:\n%s", log)
			}
		})
	}
}

// TestRotatedAuthorization checks that a server is not ready while it refuses the pool's token, also after it was ready,
// and that the log says once that it begins and once that it ends.
func TestRotatedAuthorization(t *testing.T) {
	engine := newEngine(t)
	wants := func(token string) {
		guarded := func(answer func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer "+token {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				answer(w, r)
			}
		}
		engine.set(guarded(listsModels("m")))
		engine.serve(guarded(replies(400, "")))
	}
	w, log := watcher(t, nil)
	rotate := func(token string) { must(t, w.Set([]Pool{refusable(t, engine, token)})) }
	const refuses, reason = "a server refuses its pool's authorization",
		`answers 401 to POST /v1/completions: it refuses the authorization "engine-key"`
	wants("old")
	rotate("old")
	await(t, w, Ready, "")
	rotate("new")
	await(t, w, NotReady, reason)
	if s := server(t, w); s.Refusal != RefusesKey {
		t.Errorf("got %+v", s)
	}
	wants("new")
	await(t, w, Ready, "")
	wants("newer") // a server that was started again
	await(t, w, NotReady, reason)
	engine.set(replies(500, "")) // which shows nothing
	await(t, w, Unknown, "answers 500 to GET /v1/models")
	if s := server(t, w); s.Refusal != "" {
		t.Errorf("got %+v", s)
	}
	wants("new")
	await(t, w, Ready, "")
	if n := log.count(refuses); n != 2 || log.count("accepts its pool's authorization again") != 1 {
		t.Errorf("%d warnings, want one for each time:\n%s", n, log)
	}
	if strings.Contains(log.String(), "Bearer") {
		t.Errorf("the log has the token:\n%s", log)
	}
}

// TestRefusalIsAskedOnce checks that a server that takes requests is asked for their path once after each start: each
// question is a line in its log.
func TestRefusalIsAskedOnce(t *testing.T) {
	engine := newEngine(t)
	asked := make(chan string, 64)
	engine.serve(func(w http.ResponseWriter, r *http.Request) { asked <- r.Method; w.WriteHeader(400) })
	w, _ := watcher(t, nil)
	must(t, w.Set([]Pool{refusable(t, engine, "")}))
	await(t, w, Ready, "")
	engine.set(listsModels("m", "n"))
	eventually(t, "the second question", func() bool { return len(asked) == 2 })
	engine.mu.Lock()
	engine.requests = 0
	engine.mu.Unlock()
	eventually(t, "three more probes", func() bool {
		engine.mu.Lock()
		defer engine.mu.Unlock()
		return engine.requests > 3
	})
	if n := len(asked); n != 2 {
		t.Errorf("asked %d times for two starts", n)
	}
}

// TestKindsAreRecognised checks every kind of pool before every kind of simulated server. A server without the path of
// the pool's kind is not ready, and every other one is.
func TestKindsAreRecognised(t *testing.T) {
	w, _ := watcher(t, nil)
	var all []Pool
	want := map[string]Refusal{}
	for _, served := range sim.Kinds() {
		simulated := sim.New(sim.Options{Kind: served, Models: []string{"m"}, APIKey: "k"})
		t.Cleanup(simulated.Close)
		s := httptest.NewServer(simulated.Handler())
		t.Cleanup(s.Close)
		for _, kind := range contract.ServerKinds() {
			name := kind + " before " + served
			all = append(all, Pool{Name: name, Servers: endpoints(t, s.URL), Models: []string{"m"}, Kind: kind,
				Path: contract.KindNamed(kind).Path, Authorization: "Bearer k", AuthorizationName: "key"})
			if want[name] = ""; contract.KindNamed(kind).Path != contract.KindNamed(served).Path {
				want[name] = LacksPath
			}
		}
		all = append(all, Pool{Name: "a wrong key before " + served, Servers: endpoints(t, s.URL), Models: []string{"m"},
			Kind: served, Path: contract.KindNamed(served).Path, Authorization: "Bearer wrong", AuthorizationName: "key"})
		if want["a wrong key before "+served] = RefusesKey; served == sim.Ollama || served == sim.TRTLLM { // they have no keys
			want["a wrong key before "+served] = ""
		}
	}
	must(t, w.Set(all))
	eventually(t, "all answers", func() bool {
		for _, p := range w.Servers() {
			if len(p.Servers) != 1 || p.Servers[0].Reason == NotAsked {
				return false
			}
		}
		return true
	})
	for name, p := range w.Servers() {
		s, state := p.Servers[0], Ready
		if want[name] != "" {
			state = NotReady
		}
		if s.Refusal != want[name] || s.State != state {
			t.Errorf("%s: %s %q %s", name, s.State, s.Refusal, s.Reason)
		}
	}
}
