package exchange

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// routed returns a model with these rules.
func routed(rules ...contract.Branch) contract.Model {
	m := contract.DefaultModel("m")
	m.Pool, m.PoolName, m.ContextLength, m.System.Date = "m", "far", 120, "2026-01-02"
	for i := range rules {
		r := &rules[i]
		r.PoolName = "p" + strconv.Itoa(i)
		r.Pool = contract.BranchRoute("m", r.PoolName)
		r.MinAnswer = max(r.MinAnswer, 1)
	}
	m.Route = rules
	return m
}

// chosen returns where a request goes whose prompt has so many tokens, and what its report says of the choice.
func chosen(t *testing.T, o Options, client string, tokens int, more string) (pool, route string, x *Exchange) {
	t.Helper()
	const shortest = 68 // of a prompt that says Hi
	o.Tokenizer = o200k.Tokenizer()
	x = New(o).Begin("POST", contract.ChatPath)
	if client != "" {
		x.Header("x-client", client)
	}
	body := fmt.Sprintf(`{"model":"m"%s,"messages":[{"role":"user","content":"Hi%s"}]}`, more,
		strings.Repeat(" one", tokens-shortest))
	x.RequestHeaders()
	action := x.Request([]byte(body), Host{ID: "0123456789abcdef01234567"})
	if action.Forward == nil {
		t.Fatalf("%d tokens: not sent: %+v", tokens, action.Reply)
	}
	if got := x.Report().PromptTokens; got != tokens {
		t.Fatalf("the prompt has %d tokens, want %d", got, tokens)
	}
	return action.Forward.Pool, x.Report().Route, x
}

// TestChoosePool: the first rule that fits counts, to the token.
func TestChoosePool(t *testing.T) {
	byLength := []contract.Branch{{MaxPrompt: 70}, {MinAnswer: 10, ContextLength: 90}}
	classes := []contract.Branch{{Class: "batch", MaxPrompt: 80}, {Class: "batch", ContextLength: 100}, {MaxPrompt: 70}}
	tests := []struct {
		name, client string
		rules        []contract.Branch
		tokens       int
		more         string
		pool, why    string
	}{
		{"no rule", "", nil, 70, "", "far", ""},
		{"at the bound", "", byLength, 70, "", "p0", "length"},
		{"over the bound", "", byLength, 71, "", "p1", "length"},
		{"fills the context", "", byLength, 80, "", "p1", "length"},
		{"over the context", "", byLength, 81, "", "far", "context"},
		{"a short answer", "", byLength, 88, `,"max_tokens":2`, "p1", "length"},
		{"not short enough", "", byLength, 88, `,"max_tokens":3`, "far", "context"},
		{"a long answer", "", byLength, 80, `,"max_tokens":100`, "p1", "length"},
		{"no rule fits", "", []contract.Branch{{MaxPrompt: 69}}, 70, "", "far", "length"},
		{"no class", "", classes, 71, "", "far", "length"},
		{"no class, short", "", classes, 70, "", "p2", "length"},
		{"another class", "b", classes, 71, "", "far", "length"},
		{"the class", "a", classes, 80, "", "p0", "class"},
		{"the class, longer", "a", classes, 81, "", "p1", "class"},
		{"the class, too long", "a", classes, 100, "", "far", "context"},
		{"only a class", "b", classes[:1], 70, "", "far", "default"},
		{"more than the model's", "", []contract.Branch{{ContextLength: 1000}}, 119, "", "p0", "length"},
		{"no more can be had", "", []contract.Branch{{MinAnswer: 50}}, 119, "", "p0", "length"},
	}
	for _, tt := range tests {
		o := Options{Config: contract.Config{BodyLimit: 1 << 20, Models: []contract.Model{routed(tt.rules...)},
			Clients: contract.Clients{By: contract.ClientsByHeader, Header: "x-client", Classes: []string{"a batch",
				"b other"}}}}
		pool, route, x := chosen(t, o, tt.client, tt.tokens, tt.more)
		wantPool, want := contract.BranchRoute("m", tt.pool), contract.RouteValue(tt.pool, tt.why)
		if tt.pool == "far" {
			wantPool = "m"
		}
		if tt.why == "" {
			want = ""
		}
		if pool != wantPool || route != want || x.Report().Pool != tt.pool || x.RouteTaken() != want {
			t.Errorf("%s: got %q, %q, want %q, %q", tt.name, pool, route, wantPool, want)
		}
	}
}

// TestChoosePoolAnswer: the answer has what is left of the context of the pool, and not of the model's.
func TestChoosePoolAnswer(t *testing.T) {
	o := Options{Config: contract.Config{BodyLimit: 1 << 20,
		Models: []contract.Model{routed(contract.Branch{MinAnswer: 10, ContextLength: 90})}}, Tokenizer: o200k.Tokenizer()}
	for content, want := range map[string]string{"Hi": `"max_tokens":22,`, "Hi" + strings.Repeat(" one",
		13): `"max_tokens":39,`} {
		x := New(o).Begin("POST", contract.ChatPath)
		body := `{"model":"m","messages":[{"role":"user","content":"` + content + `"}]}`
		action := x.Request([]byte(body), Host{ID: "0123456789abcdef01234567"})
		if action.Forward == nil || !bytes.Contains(action.Forward.Body, []byte(want)) {
			t.Errorf("%q: want %s in %s", content, want, action.Forward.Body)
		}
	}
}

// TestChoosePoolClientContext: a client with a smaller context needs no more room than it may have.
func TestChoosePoolClientContext(t *testing.T) {
	o := Options{Config: contract.Config{BodyLimit: 1 << 20,
		Models:  []contract.Model{routed(contract.Branch{MinAnswer: 50, ContextLength: 90})},
		Clients: contract.Clients{By: contract.ClientsByHeader, Header: "x-client", Contexts: []string{"a 80"}}}}
	if pool, route, _ := chosen(t, o, "a", 75, ""); pool != "m to p0" || route != "p0;why=length" {
		t.Errorf("got %q, %q", pool, route)
	}
	if pool, route, _ := chosen(t, o, "b", 75, ""); pool != "m" || route != "far;why=context" {
		t.Errorf("another client: got %q, %q", pool, route)
	}
}

// TestChoosePoolAffinity: what goes to the same server is decided by the settings of the pool that is chosen.
func TestChoosePoolAffinity(t *testing.T) {
	affinity := contract.Routing{Affinity: true, Blocks: 2, BlockSize: 16}
	session := contract.Routing{Affinity: true, SessionHeader: "x-session"}
	m := routed(contract.Branch{MaxPrompt: 70, Routing: affinity}, contract.Branch{MaxPrompt: 80, Routing: session})
	o := Options{Config: contract.Config{BodyLimit: 1 << 20, Models: []contract.Model{m}}, Tokenizer: o200k.Tokenizer()}
	for words, want := range map[int]string{2: contract.RoutedByPrefix, 3: contract.RoutedBySession, 13: ""} {
		x := New(o).Begin("POST", contract.ChatPath)
		x.Header("x-session", "1")
		body := `{"model":"m","messages":[{"role":"user","content":"Hi` + strings.Repeat(" one", words) + `"}]}`
		action := x.Request([]byte(body), Host{ID: "0123456789abcdef01234567"})
		told := ""
		for _, h := range action.Forward.Internal {
			if h.Name == contract.AffinityHeader {
				told += h.Value
			}
		}
		if got := x.Report().RoutedBy; got != want || (told == "") != (want == "") || len(told) > 16 {
			t.Errorf("%d words: routed by %q, want %q; told %q", words, got, want, told)
		}
	}
}
