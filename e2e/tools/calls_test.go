//go:build e2e

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// counter is a server whose tool counts its calls, in its name.
func counter(t *testing.T, name string) *toolservers.Server {
	var n atomic.Int64
	return toolservers.Plain(t, tool("count", func(context.Context, string) (string, error) {
		return fmt.Sprintf("%s counts %d", name, n.Add(1)), nil
	}))
}

// counting are the answers of a model that counts up to a number.
func counting(name string, to int) []sim.Line {
	lines := []sim.Line{asked("Count.", calls("count", `{}`))}
	for n := 1; n < to; n++ {
		lines = append(lines, told(fmt.Sprintf("%s counts %d<|end|>", name, n), calls("count", `{}`)))
	}
	return append(lines, told(fmt.Sprintf("%s counts %d<|end|>", name, to), says("Counted.")))
}

// TestCall reads one call in all the ways in which a client can: whole, streamed, stored, in a chain and in a
// conversation. The model sees the same history in each.
func TestCall(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		server := toolservers.Plain(t, tool("weather", func(context.Context, string) (string, error) {
			return "Paris: 21 degrees", nil
		}))
		g := start(t, host, configuration{servers: []string{at("city", server.Streamable()), at("other", server.SSE())},
			script: []sim.Line{
				asked("How warm is it?", calls("weather", `{"city":"Paris"}`)),
				told("Paris: 21 degrees", says("It is mild.")), asked("And now?", says("As before.")),
			}})
		whole := g.Create(ask("How warm is it?", mcp("city")))
		usageAddsUp(t, g, 0, whole)
		streamed, events := g.Stream(ask("How warm is it?", mcp("city")))
		for _, r := range []*response{whole, streamed} {
			if got := r.Types(); got != "mcp_list_tools reasoning mcp_call message" || r.Text() != "It is mild." ||
				output(r.Output[2]) != "Paris: 21 degrees" || r.Output[2].ApprovalRequestID != "" {
				t.Errorf("%s: %+v", got, r)
			}
			read := &response{}
			g.Object("Response", g.Do("GET", "responses/"+r.ID, "", 200), read)
			if fmt.Sprint(read.Output) != fmt.Sprint(r.Output) {
				t.Errorf("stored as %+v\nwant %+v", read.Output, r.Output)
			}
		}
		if n := strings.Count(events, "event: response.created\n"); n != 1 {
			t.Errorf("%d responses are created in one stream", n)
		}
		// A chain knows the tools of a label, and lists the tools of a new one.
		next := g.Create(after(whole) + ask("And now?", mcp("city")))
		if got := next.Types(); got != "message" || next.Text() != "As before." {
			t.Errorf("%s: %+v", got, next)
		}
		chained := lastIDs(g)
		g.InOrder("How warm is it?", `to=functions.weather`, `{"city":"Paris"}`, "Paris: 21 degrees", "It is mild.",
			"And now?")
		more := g.Create(after(next) + ask("And now?", mcp("city"), mcp("other")))
		if got := more.Types(); got != "mcp_list_tools message" {
			t.Errorf("with a new label: %s", got)
		}
		l := &list{}
		g.Object("ResponseItemList", g.Do("GET", "responses/"+next.ID+"/input_items?order=asc", "", 200), l)
		if l.Types() != "message mcp_list_tools reasoning mcp_call message message" {
			t.Errorf("%s", l.Types())
		}
		// The client's own copy of the items stands for the chain.
		replayed := g.Create(`"store":false,"input":[{"role":"user","content":"How warm is it?"},` + rawOutput(g, whole.ID) +
			`,{"role":"user","content":"And now?"}],` + with(mcp("city")))
		if replayed.Types() != "message" || replayed.Store || !slices.Equal(lastIDs(g), chained) {
			t.Errorf("%+v\n%v", replayed, lab.SameIDs(lastIDs(g), chained))
		}
		// A conversation.
		var c struct{ ID string }
		g.Object("ConversationResource", g.Do("POST", "conversations", `{}`, 200), &c)
		in := `"conversation":"` + c.ID + `",`
		g.Create(in + ask("How warm is it?", mcp("city")))
		if r := g.Create(in + ask("And now?", mcp("city"))); r.Types() != "message" || !slices.Equal(lastIDs(g), chained) {
			t.Errorf("%+v\n%v", r, lab.SameIDs(lastIDs(g), chained))
		}
		g.Object("ConversationItemList", g.Do("GET", "conversations/"+c.ID+"/items?order=asc&limit=100", "", 200), l)
		if l.Types() != "message mcp_list_tools reasoning mcp_call message message message" {
			t.Errorf("%s", l.Types())
		}
	})
}

// TestCallUnstored has a call in a response that is not stored.
func TestCallUnstored(t *testing.T) {
	server := toolservers.Plain(t, tool("count", answering("a counts 1")))
	g := start(t, "wazero", configuration{servers: []string{at("a", server.Streamable())}, script: counting("a", 1)})
	for _, stream := range []bool{false, true} {
		members := `"store":false,` + ask("Count.", mcp("a"))
		var r *response
		if stream {
			r, _ = g.Stream(members)
		} else {
			r = g.Create(members)
		}
		if r.Store || r.Types() != "mcp_list_tools reasoning mcp_call message" {
			t.Errorf("%+v", r)
		}
		g.Refused("GET", "responses/"+r.ID, "", 404, "")
	}
}

// TestRounds has ten rounds in one response.
func TestRounds(t *testing.T) {
	const rounds = 10
	server := counter(t, "a")
	g := start(t, "envoy", configuration{servers: []string{at("a", server.Streamable())}, script: counting("a", rounds)})
	r, _ := g.Stream(ask("Count.", mcp("a")))
	if n := len(r.Of("mcp_call")); n != rounds || r.Text() != "Counted." || len(server.Calls()) != rounds {
		t.Errorf("%d calls, %d at the server: %+v", n, len(server.Calls()), r)
	}
	if n := len(lab.Completions(g.Sim)); n != rounds+1 {
		t.Errorf("%d rounds", n)
	}
	usageAddsUp(t, g, 0, r)
}

// TestRoundsAsSampled: each round's prompt is the one before, what was sampled after it, and what is new, to the id,
// also where the model spells its arguments as no encoder does.
func TestRoundsAsSampled(t *testing.T) {
	const rounds = 4
	server := counter(t, "a")
	lines := counting("a", rounds)
	spelled := lab.Tokens(strings.TrimSuffix(calls("count", ""), "<|call|>"))
	for _, c := range `{"n": 10}` {
		spelled = append(spelled, lab.Tokens(string(c))...)
	}
	for i := range rounds {
		lines[i].Tokens = append(slices.Clone(spelled), lab.Tokens("<|call|>")...)
	}
	g := start(t, "wazero", configuration{servers: []string{at("a", server.Streamable())}, script: lines})
	r := g.Create(ask("Count.", mcp("a")))
	asked := lab.Completions(g.Sim)
	if r.Text() != "Counted." || len(asked) != rounds+1 {
		t.Fatalf("%d rounds: %+v", len(asked), r)
	}
	for i := range rounds {
		before := slices.Concat(asked[i].PromptIDs, asked[i].SampledIDs)
		if next := asked[i+1].PromptIDs; len(next) <= len(before) || !slices.Equal(next[:len(before)], before) {
			t.Errorf("round %d: %s\nafter %s", i+1, lab.Vocabulary.DecodeString(next), lab.Vocabulary.DecodeString(before))
		}
	}
}

// TestLimits ends responses whose model does not stop calling: by the client's limits, and by the operator's.
func TestLimits(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		server := counter(t, "a")
		g := start(t, host, configuration{servers: []string{at("a", server.Streamable())}, settings: []string{"rounds: 6"},
			script: []sim.Line{asked("Count.", calls("count", `{}`)), told("", calls("count", `{}`))}})
		made := func() func() int {
			before := len(server.Calls())
			return func() int { return len(server.Calls()) - before }
		}
		// Calls beyond max_tool_calls are not made, and the response ends within the rounds.
		n := made()
		r := g.Create(`"max_tool_calls":3,` + ask("Count.", mcp("a")))
		if n() != 3 || r.Status != "completed" && r.Status != "incomplete" {
			t.Errorf("%d calls: %+v", n(), r)
		}
		n = made()
		r, _ = g.Stream(ask("Count.", mcp("a")))
		if n() > 6 || n() < 5 {
			t.Errorf("%d calls in 6 rounds: %+v", n(), r)
		}
		// max_output_tokens counts over all rounds.
		n = made()
		first := len(lab.Completions(g.Sim))
		r, _ = g.Stream(`"max_output_tokens":40,` + ask("Count.", mcp("a")))
		if r.Status != "incomplete" || r.Incomplete == nil || r.Incomplete.Reason != "max_output_tokens" ||
			r.Usage.OutputTokens > 40 || n() == 0 {
			t.Errorf("%d calls: %+v %+v", n(), r, r.Usage)
		}
		var sent int
		for _, round := range lab.Completions(g.Sim)[first:] {
			sent += round.TokensSent
		}
		if sent > 40 {
			t.Errorf("the model has written %d tokens of 40", sent)
		}
	})
}

// TestParallel has two calls in one answer. Each tool waits for the other one.
func TestParallel(t *testing.T) {
	var met sync.WaitGroup
	met.Add(2)
	meets := func(name string) toolservers.Tool {
		return tool(name, func(ctx context.Context, _ string) (string, error) {
			met.Done()
			done := make(chan struct{})
			go func() { met.Wait(); close(done) }()
			select {
			case <-done:
				return name + " has met the other", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
	}
	server := toolservers.Plain(t, meets("ann"), meets("bob"))
	g := start(t, "envoy", configuration{servers: []string{at("a", server.Streamable())}, script: []sim.Line{
		asked("Meet.", both(call("ann", `{}`), call("bob", `{}`))), told("bob has met", says("Met.")),
	}})
	r, _ := g.Stream(ask("Meet.", mcp("a")))
	c := r.Of("mcp_call")
	if len(c) != 2 || c[0].Name != "ann" || c[1].Name != "bob" || output(c[0]) != "ann has met the other" ||
		r.Text() != "Met." {
		t.Errorf("%+v", r)
	}
	g.InOrder("ann has met", "bob has met")
}

// TestMixed has a call of a tool and a call of a client's function in one answer. The client continues.
func TestMixed(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		server := counter(t, "a")
		const function = `{"type":"function","name":"ask_user","parameters":{"type":"object"}}`
		g := start(t, host, configuration{servers: []string{at("a", server.Streamable())}, script: []sim.Line{
			asked("Count and ask.", both(call("count", `{}`), call("ask_user", `{}`))),
			told("the user says yes", says("Counted and asked.")),
		}})
		for turn, create := range []func(string) *response{
			func(members string) *response { return g.Create(members) },
			func(members string) *response { r, _ := g.Stream(members); return r },
		} {
			rounds := len(lab.Completions(g.Sim))
			one := create(ask("Count and ask.", mcp("a"), function))
			if got := one.Types(); got != "mcp_list_tools mcp_call function_call" &&
				got != "mcp_list_tools function_call mcp_call" ||
				one.Status != "completed" || len(lab.Completions(g.Sim)) != rounds+1 {
				t.Fatalf("%s: %+v", got, one)
			}
			counted := fmt.Sprintf("a counts %d", turn+1)
			if output(one.Of("mcp_call")[0]) != counted {
				t.Errorf("%+v", one)
			}
			two := create(after(one) + `"input":[{"type":"function_call_output","call_id":"` +
				one.Of("function_call")[0].CallID + `","output":"the user says yes"}],` + with(mcp("a"), function))
			if two.Text() != "Counted and asked." || len(server.Calls()) != turn+1 {
				t.Errorf("%+v", two)
			}
			g.InOrder("to=functions.count", counted, "the user says yes")
		}
	})
}

// TestBackground makes calls in the background: polled, streamed and resumed.
func TestBackground(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		server := toolservers.Plain(t, tool("count", answering("a counts 1")))
		g := start(t, host, configuration{servers: []string{at("a", server.Streamable())}, script: counting("a", 1)})
		one := g.Create(`"background":true,` + ask("Count.", mcp("a")))
		if r := g.Await(one.ID); r.Status != "completed" || len(r.Of("mcp_call")) != 1 || r.Text() != "Counted." {
			t.Errorf("%+v", r)
		}
		two, events := g.Stream(`"background":true,` + ask("Count.", mcp("a")))
		if two.Status != "completed" {
			t.Errorf("%+v", two)
		}
		frames := strings.SplitAfter(events, "\n\n")
		half := len(frames) / 2
		rest := g.Do("GET", fmt.Sprintf("responses/%s?stream=true&starting_after=%d", two.ID, half), "", 200).Body
		if rest != strings.Join(frames[half+1:], "") {
			t.Errorf("resumed after %d: %s", half, rest)
		}
	})
}

// TestWebSocket has calls on a connection, on two lanes at once, stored and not.
func TestWebSocket(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		server := toolservers.Plain(t, tool("weather", func(context.Context, string) (string, error) {
			return "Paris: 21 degrees", nil
		}))
		g := start(t, host, configuration{servers: []string{at("city", server.Streamable())}, script: []sim.Line{
			asked("How warm is it?", calls("weather", `{"city":"Paris"}`)),
			told("Paris: 21 degrees", says("It is mild.")), asked("And now?", says("As before.")),
		}})
		c := g.Dial()
		c.Ask(`"store":false,` + ask("How warm is it?", mcp("city")))
		one := c.Answer("")
		if one.Types() != "mcp_list_tools reasoning mcp_call message" || one.Text() != "It is mild." {
			t.Errorf("%+v", one)
		}
		c.Ask(`"store":false,` + after(one) + ask("And now?", mcp("city")))
		if two := c.Answer(""); two.Types() != "message" || two.Text() != "As before." {
			t.Errorf("%+v", two)
		}
		g.InOrder("How warm is it?", "Paris: 21 degrees", "It is mild.", "And now?")
		for _, lane := range []string{"a", "b"} {
			c.Ask(`"stream_id":"` + lane + `",` + ask("How warm is it?", mcp("city")))
		}
		for lane, r := range c.Answers("a", "b") {
			if len(r.Of("mcp_call")) != 1 || r.Text() != "It is mild." {
				t.Errorf("%s: %+v", lane, r)
			}
		}
	})
}

// lastIDs is the newest prompt.
func lastIDs(g *gateway) []uint32 {
	all := lab.Completions(g.Sim)
	return all[len(all)-1].PromptIDs
}

// rawOutput is the output of a stored response as JSON, without its brackets.
func rawOutput(g *gateway, id string) string {
	g.T.Helper()
	var r struct{ Output json.RawMessage }
	if err := json.Unmarshal([]byte(g.Do("GET", "responses/"+id, "", 200).Body), &r); err != nil {
		g.T.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(r.Output), "["), "]")
}
