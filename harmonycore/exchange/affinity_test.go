package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// told returns the internal headers that a request is sent with, and what its server is chosen by.
func told(t *testing.T, g *Gateway, path, body string, headers ...string) (affinity, blocks, by string) {
	t.Helper()
	x := g.Begin("POST", path)
	for i := 0; i < len(headers); i += 2 {
		x.Header(headers[i], headers[i+1])
	}
	a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
	if a.Forward == nil {
		t.Fatalf("not forwarded: %+v", a)
	}
	for _, h := range a.Forward.Internal {
		switch {
		case h.Name == contract.AffinityHeader && affinity == "" && len(h.Value) == 16:
			affinity = h.Value
		case h.Name == contract.BlocksHeader && blocks == "":
			blocks = strings.Clone(h.Value)
		default:
			t.Errorf("a second or a wrong header: %+v", h)
		}
	}
	return affinity, blocks, x.Report().RoutedBy
}

func alikeGateway(change func(*Options)) *Gateway {
	return testGateway(func(o *Options) {
		o.Models[0].Policy = contract.PolicyPrefix
		o.Models[0].Routing = contract.Routing{Affinity: true, SessionHeader: "x-session"}
		if change != nil {
			change(o)
		}
	})
}

// turns returns a Chat request after n turns, with further members.
func turns(n int, members string) string {
	text := `{"role":"system","content":"Be kind."},{"role":"user","content":"Hi"}`
	for i := range n {
		text += fmt.Sprintf(`,{"role":"assistant","content":"Hello %d"},{"role":"user","content":"Go on %d"}`, i, i)
	}
	return `{"model":"` + testModel + `",` + members + `"messages":[` + text + `]}`
}

// TestAffinityOfAgents: an agent's helpers go to the server that has their parent's prompts. Codex gives a sub-agent
// the root's key, and a reviewer one of its own; all of them have the root's session in a header.
func TestAffinityOfAgents(t *testing.T) {
	body := func(key, text string) string {
		return `{"model":"` + testModel + `","prompt_cache_key":"` + key + `","input":"` + text + `"}`
	}
	for _, tt := range []struct {
		header   string
		by       string
		reviewer bool // whether it goes where the root goes
	}{{"session-id", contract.RoutedBySession, true}, {"", contract.RoutedByCacheKey, false}} {
		g := alikeGateway(func(o *Options) { o.Models[0].Routing.SessionHeader = tt.header })
		root, _, by := told(t, g, contract.ResponsesPath, body("root", "Go."), "session-id", "root", "thread-id", "root")
		agent, _, _ := told(t, g, contract.ResponsesPath, body("root", "Look."), "session-id", "root", "thread-id", "agent",
			"x-openai-subagent", "collab_spawn")
		reviewer, _, _ := told(t, g, contract.ResponsesPath, body("review", "Judge."), "session-id", "root", "thread-id",
			"review", "x-openai-subagent", "guardian")
		other, _, _ := told(t, g, contract.ResponsesPath, body("other", "Go."), "session-id", "other", "thread-id", "other")
		if by != tt.by || agent != root || (reviewer == root) != tt.reviewer || other == root {
			t.Errorf("by %s: root %s, agent %s, reviewer %s, other %s", by, root, agent, reviewer, other)
		}
	}
}

// TestAffinity: session, key and prompt decide in this order, in both APIs and for servers of all kinds.
func TestAffinity(t *testing.T) {
	for _, kind := range []string{contract.VLLM, contract.SGLang, contract.LlamaCPP, contract.Chat} {
		g := alikeGateway(func(o *Options) { o.Models[0].Server = kind })
		first, _, by := told(t, g, contract.ChatPath, turns(0, ""))
		if first == "" || by != contract.RoutedByPrefix {
			t.Errorf("%s: %q by %q", kind, first, by)
		}
		if second, _, _ := told(t, g, contract.ChatPath, turns(3, "")); second != first {
			t.Errorf("%s: another turn has %s, and the first %s", kind, second, first)
		}
		other, _, _ := told(t, g, contract.ChatPath, strings.Replace(turns(0, ""), `"Hi"`, `"Ho"`, 1))
		if other == first {
			t.Errorf("%s: another question has the same affinity", kind)
		}
		key, _, by := told(t, g, contract.ChatPath, turns(0, `"prompt_cache_key":"k\u00e9y",`))
		if key == first || by != contract.RoutedByCacheKey {
			t.Errorf("%s: with a key %s by %s", kind, key, by)
		}
		again, _, _ := told(t, g, contract.ResponsesPath,
			`{"model":"`+testModel+`","input":"Something else","prompt_cache_key":"kéy","store":false}`)
		if again != key {
			t.Errorf("%s: one key has %s and %s", kind, key, again)
		}
		session, _, by := told(t, g, contract.ChatPath, turns(0, `"prompt_cache_key":"k",`), "x-session", "a",
			"x-session", "b")
		if session == key || by != contract.RoutedBySession {
			t.Errorf("%s: with a session %s by %s", kind, session, by)
		}
		if same, _, _ := told(t, g, contract.ChatPath, turns(1, ""), "x-session", "a"); same != session {
			t.Errorf("%s: one session has %s and %s", kind, session, same)
		}
		_, _, by = told(t, g, contract.ChatPath, turns(0, `"prompt_cache_key":"",`), "x-session", "", "x-other", "a")
		if by != contract.RoutedByPrefix {
			t.Errorf("%s: without a name it goes by %s", kind, by)
		}
	}
}

// TestAffinityOfOthers: requests whose prompts the gateway does not make have an affinity too.
func TestAffinityOfOthers(t *testing.T) {
	untranslated := alikeGateway(func(o *Options) { o.Models[0].Translate = "0%" })
	raw := alikeGateway(func(o *Options) { o.Models[0].RawPrompts = contract.RawPromptsAllow })
	prompt := func(text string) string { return `{"model":"` + testModel + `","prompt":"` + text + `"}` }
	for _, tt := range []struct {
		g                     *Gateway
		path, one, two, third string
	}{
		{untranslated, contract.ChatPath, turns(0, ""), turns(2, ""), chatBody(true)},
		{raw, contract.CompletionsPath, prompt("a"), prompt("a"), prompt("b")},
	} {
		one, _, by := told(t, tt.g, tt.path, tt.one)
		two, _, _ := told(t, tt.g, tt.path, tt.two)
		three, _, _ := told(t, tt.g, tt.path, tt.third)
		if one == "" || one != two || one == three || by != contract.RoutedByPrefix {
			t.Errorf("%s: %q, %q, %q by %q", tt.path, one, two, three, by)
		}
	}
	if a, b, by := told(t, testGateway(nil), contract.ChatPath, turns(0, ""), "x-session", "a"); a+b+by != "" {
		t.Errorf("without the policy %q, %q, %q", a, b, by)
	}
}

// TestBlockHashes: a picker gets the hashes of the first blocks, also where a session decides.
func TestBlockHashes(t *testing.T) {
	g := alikeGateway(func(o *Options) {
		o.Models[0].Routing.BlockSize, o.Models[0].Routing.BlockHashes = 4, 5
	})
	_, one, _ := told(t, g, contract.ChatPath, turns(0, ""), "x-session", "a")
	_, two, _ := told(t, g, contract.ChatPath, turns(3, ""))
	if n := strings.Count(two, ","); n != 4 || len(two) != 5*16+4 || one != two {
		t.Errorf("%q, and a turn later %q", one, two)
	}
	alone := alikeGateway(func(o *Options) { o.Models[0].Routing = contract.Routing{BlockHashes: 2} })
	if affinity, blocks, by := told(t, alone, contract.ChatPath, turns(0, "")); affinity+by != "" || len(blocks) != 33 {
		t.Errorf("%q, %q by %q", affinity, blocks, by)
	}
}

// TestAffinityInReducedMode: before the body is there, only a session is known.
func TestAffinityInReducedMode(t *testing.T) {
	g := alikeGateway(func(o *Options) { o.Mode = contract.ModeReduced })
	for _, session := range []string{"", "a"} {
		x := g.Begin("POST", contract.ChatPath)
		x.Header("x-session", session)
		head := x.RequestHeaders()
		a := x.Request([]byte(turns(0, `"prompt_cache_key":"k",`)), Host{Now: testNow, ID: testID})
		if a.Forward == nil || len(a.Forward.Internal) != 0 {
			t.Fatalf("%+v", a)
		}
		want := map[string]string{"a": contract.RoutedBySession}[session]
		if len(head.Internal) != len(session) || x.Report().RoutedBy != want {
			t.Errorf("session %q: %+v by %q", session, head.Internal, x.Report().RoutedBy)
		}
	}
}

// TestRefusedHasNoAffinity: what is not sent is not counted as sent by something.
func TestRefusedHasNoAffinity(t *testing.T) {
	x := alikeGateway(nil).Begin("POST", contract.ChatPath)
	x.Header("x-session", "a")
	if a := x.Request([]byte(`{"model":"`+testModel+`","messages":7}`), Host{Now: testNow, ID: testID}); a.Reply == nil {
		t.Fatalf("%+v", a)
	}
	if by := x.Report().RoutedBy; by != "" {
		t.Errorf("it is routed by %q", by)
	}
}
