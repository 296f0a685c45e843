//go:build e2e && routers

package routers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// engine is a server with the paths of several kinds, as vLLM and SGLang have them.
type engine struct {
	url string
	// completions is the server at /v1/completions. Its kind changes.
	completions atomic.Pointer[sim.Server]
	at          map[string]*sim.Server
	// chat, if not nil, answers conversations.
	chat atomic.Pointer[http.HandlerFunc]
}

func startEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{at: map[string]*sim.Server{}}
	run := func(kind string) *sim.Server {
		s := sim.New(sim.Options{Kind: kind, Models: []string{lab.Model}})
		t.Cleanup(s.Close)
		return s
	}
	for path, kind := range map[string]string{"/generate": sim.SGLang, "/inference/v1/generate": sim.VLLMGenerate,
		"/v1/chat/completions": sim.Chat} {
		e.at[path] = run(kind)
	}
	other := run(sim.VLLM)
	e.completions.Store(other)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := e.at[r.URL.Path]
		if chat := e.chat.Load(); chat != nil && r.URL.Path == lab.ChatPath {
			(*chat)(w, r)
			return
		}
		switch {
		case r.URL.Path == "/v1/completions":
			s = e.completions.Load()
		case s == nil:
			s = other
		}
		s.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	e.url = front.URL
	return e
}

// serve makes the engine answer at a kind's path as that kind does.
func (e *engine) serve(t *testing.T, kind string) {
	t.Helper()
	if contract.KindNamed(kind).Path != contract.CompletionsPath {
		return
	}
	o := sim.Options{Kind: kind, Models: []string{lab.Model}}
	if kind == contract.Text { // the routers add members that are only vLLM's and SGLang's
		o.Kind, o.TextSpecials = sim.VLLM, true
	}
	s := sim.New(o)
	t.Cleanup(s.Close)
	e.completions.Store(s)
}

// kinds are the rows of the table.
var kinds = []string{contract.VLLM, contract.VLLMGenerate, contract.SGLang, contract.SGLangCompletions, contract.TRTLLM,
	contract.Text, contract.Chat}

// TestTable asks each kind of server through each router and the shipped filter in Envoy, and holds the table in
// docs/routers.md against what comes of it.
func TestTable(t *testing.T) {
	page, err := os.ReadFile(lab.File("docs/routers.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, kind := range kinds {
		rows[kind] = "| `" + kind + "` |"
	}
	for i := range all {
		e := startEngine(t)
		url := all[i].start(t, e.url)
		for _, kind := range kinds {
			e.serve(t, kind)
			rows[kind] += " " + outcome(t, url, kind) + " |"
		}
	}
	for _, kind := range kinds {
		if !strings.Contains(string(page), "\n"+rows[kind]+"\n") {
			t.Errorf("docs/routers.md lacks the row\n%s", rows[kind])
		}
	}
}

// outcome runs a gateway before a router, and returns what comes of requests to servers of a kind in a few words.
func outcome(t *testing.T, url, kind string) string {
	t.Helper()
	// Servers in this form keep their requests whatever they list: sglang-router may list "unknown".
	up, gateway := lab.StartUp(t, "--host", "envoy", "--model", lab.Model,
		"--backend", kind+"="+url, "--accept-text-prompts")
	defer up.Stop(t, syscall.SIGTERM)
	status := "http://" + up.Announced(t, `(?m)^page.*: http://(\S+)$`) + "/status"
	found := finding(t, status, kind)
	client := lab.HTTP1(t)
	ask := func(members string) lab.Answer {
		return lab.Do(client, http.MethodPost, gateway+lab.ChatPath, nil,
			strings.NewReader("{"+members+lab.ChatBody(lab.Model, "Hi")[1:]))
	}
	whole, stream := ask(""), ask(`"stream":true,`)
	works := whole.Status == http.StatusOK && stream.Status == http.StatusOK && strings.Contains(stream.Body, "[DONE]")
	named := askNamed(found, func() lab.Answer {
		return ask(`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",` +
			`"properties":{}}}}],` +
			`"tool_choice":{"type":"function","function":{"name":"f"}},`)
	})
	called := named.Status == http.StatusOK && strings.Contains(named.Body, `"tool_calls"`)
	switch {
	case found.Refusal == pools.RefusesIDs && !works:
		return "no token ids"
	case found.Refusal == pools.LacksPath && !works:
		return "no such path"
	case works && called && found.StructuralTags == pools.TagsHeld:
		return "works, tags too"
	case works && called && found.StructuralTags == pools.TagsDropped:
		return "works, drops tags"
	case works && called:
		return "works"
	}
	t.Logf("%s before %s: %+v\n%+v\n%+v\n%+v", kind, url, found, whole, stream, named)
	return fmt.Sprintf("%d", whole.Status)
}

// askNamed asks for a forced call. What the gateway has found out comes to be in force a moment later. Until then such
// a request is an error, and never free text.
func askNamed(found server.PoolServer, ask func() lab.Answer) lab.Answer {
	for end := time.Now().Add(lab.Patience); ; {
		got := ask()
		if !found.StructuralTags.Lost() || got.ErrorCode() != contract.CodeStructuredOutputBroken || time.Now().After(end) {
			return got
		}
	}
}

// finding waits until the gateway has found out what the server at a router does.
func finding(t *testing.T, status, kind string) server.PoolServer {
	t.Helper()
	asked := contract.KindNamed(kind).StructuralTags
	for end := time.Now().Add(lab.Patience); ; time.Sleep(20 * time.Millisecond) {
		var s server.Status
		a := lab.Do(http.DefaultClient, http.MethodGet, status, nil, nil)
		if json.Unmarshal([]byte(a.Body), &s) == nil && len(s.Pools) == 1 && len(s.Pools[0].Servers) == 1 {
			one := s.Pools[0].Servers[0]
			if one.Refusal != "" || one.Reason != pools.NotAsked && (!asked || one.StructuralTags != pools.TagsNotAsked) {
				return one
			}
		}
		if time.Now().After(end) {
			t.Fatalf("%s: nothing is found out: %s", kind, a.Body)
		}
	}
}
