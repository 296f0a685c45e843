//go:build e2e

package lifecycle

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// the programs that run the responses service when the file says so.
var programs = []struct {
	name  string
	start func(t *testing.T, text string) *gateway
}{{"up", up}, {"controlplane", plane}, {"controlplane after a bad file", planeAfterABadFile}}

// long is an answer of three seconds at 20 tokens each second.
const long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen " +
	"eighteen nineteen twenty one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"

// TestServiceComesAndGoes adds the responses service to a running program, takes it away while it makes a response, and
// adds it again. Clients ask all the time, for answers of the model and for responses.
func TestServiceComesAndGoes(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			script := sim.NewScript(
				sim.Line{Match: "take your time", Tokens: lab.Tokens("<|channel|>final<|message|>" + long + "<|return|>")},
				sim.Line{Match: "Hi", Tokens: lab.Tokens("<|channel|>final<|message|>Well.<|return|>")})
			_, model := lab.RunSim(t, sim.Options{Script: script, TokensPerSecond: 20})
			without := fmt.Sprintf("models: [{ name: %s, servers: [%q] }]\n", lab.Model, "vllm="+model)
			with := fmt.Sprintf("responses_service: { store: %q, listen: %q }\n", filepath.Join(t.TempDir(), "r.db"),
				lab.FreeAddress(t)) + without
			g := p.start(t, without)
			chat := begin(g, "/v1/chat/completions", lab.ChatBody(lab.Model, "Hi"))
			responses := begin(g, "/v1/responses", g.Body(`"input":"Hi"`))

			g.replace(with)
			took := g.until("a response is stored", g.stores)
			t.Logf("stored after %v", took)
			kept := g.Create(`"input":"Hi"`).ID

			stream := g.Open("POST", "responses", g.Body(`"stream":true,"input":"take your time"`))
			stream.Until("response.output_text.delta")
			g.replace(without)
			g.until("responses are not stored any more", func() bool { return !g.has(kept) })
			if text := stream.End(); !strings.Contains(text, "event: response.completed") || !strings.Contains(text, long) {
				t.Errorf("the stream is cut when the service goes: %s", text)
			}

			g.replace(with)
			g.until("what was stored is there again", func() bool { return g.has(kept) })
			g.until("a response is stored again", g.stores)
			chat.end(t)
			responses.end(t)
		})
	}
}

// stores reports whether a response that a client asks for is stored.
func (g *gateway) stores() bool {
	a := lab.Do(g.Client, "POST", g.URL+"/v1/responses", nil, strings.NewReader(g.Body(`"input":"Hi"`)))
	var r struct{ ID string }
	return a.Status == 200 && json.Unmarshal([]byte(a.Body), &r) == nil && g.has(r.ID)
}

// has reports whether a response is stored.
func (g *gateway) has(id string) bool {
	return lab.Do(g.Client, "GET", g.URL+"/v1/responses/"+id, nil, nil).Status == 200
}

// answering returns a server of tools with a tool that says who it is.
func answering(t *testing.T, who string) *toolservers.Server {
	return toolservers.Plain(t, toolservers.Tool{Name: "who", Answer: func(json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: who}}}, nil
	}})
}

// TestToolServerChanges gives a running program another server of tools under the same label, and then none.
func TestToolServerChanges(t *testing.T) {
	for _, p := range programs[:2] {
		t.Run(p.name, func(t *testing.T) {
			call := lab.Tokens("<|channel|>commentary to=functions.who <|constrain|>json<|message|>{}<|call|>")
			var lines []sim.Line
			for range 200 {
				lines = append(lines, sim.Line{Tokens: call},
					sim.Line{Tokens: lab.Tokens("<|channel|>final<|message|>Well.<|return|>")})
			}
			_, model := lab.RunSim(t, sim.Options{Script: sim.NewScript(lines...)})
			text := fmt.Sprintf("models: [{ name: %s, servers: [%q] }]\nresponses_service:\n  store: %q\n  listen: %q\n",
				lab.Model, "vllm="+model, filepath.Join(t.TempDir(), "r.db"), lab.FreeAddress(t))
			desk := func(s *toolservers.Server) string {
				return text + fmt.Sprintf("  tools: { servers: [{ label: desk, url: %q, require_approval: never }] }\n", s.Streamable())
			}
			first, second := answering(t, "the first"), answering(t, "the second")
			g := p.start(t, desk(first))
			asks := func(who string) func() bool {
				return func() bool {
					a := lab.Do(g.Client, "POST", g.URL+"/v1/responses", nil, strings.NewReader(g.Body(
						`"input":"who?","tools":[{"type":"mcp","server_label":"desk"}]`)))
					return a.Status == 200 && strings.Contains(a.Body, `"output":"`+who+`"`)
				}
			}
			g.until("the first server is called", asks("the first"))
			g.replace(desk(second))
			took := g.until("the second server is called", asks("the second"))
			if took > 5*time.Second {
				t.Errorf("the second server is called after %v", took)
			}
		})
	}
}

// TestModelSettingsFollow changes a setting of a model that the responses service reads: whether an answer that is lost
// is asked for once more. The client asks by an alias.
func TestModelSettingsFollow(t *testing.T) {
	for _, p := range programs[:2] {
		t.Run(p.name, func(t *testing.T) {
			answer := lab.Tokens("<|channel|>final<|message|>the answer<|return|>")
			lost := &sim.Fault{Kind: sim.FaultReset, After: 2}
			var lines []sim.Line
			for range 2000 {
				lines = append(lines, sim.Line{Tokens: answer, Fault: lost}, sim.Line{Tokens: answer})
			}
			_, model := lab.RunSim(t, sim.Options{Script: sim.NewScript(lines...)})
			store, listen := filepath.Join(t.TempDir(), "r.db"), lab.FreeAddress(t)
			text := func(relay string) string {
				return fmt.Sprintf("models: [{ name: %s, aliases: [gpt-4o], relay: %s, servers: [%q] }]\n"+
					"responses_service: { store: %q, listen: %q }\n", lab.Model, relay, "vllm="+model, store, listen)
			}
			g := p.start(t, text("finish"))
			completed := func() bool {
				a := lab.Do(g.Client, "POST", g.URL+"/v1/responses", nil,
					strings.NewReader(`{"model":"gpt-4o","input":"hi","stream":true}`))
				return strings.Contains(a.Body, "event: response.completed")
			}
			if completed() || !completed() || completed() || !completed() {
				t.Fatal("not every other answer is lost")
			}
			g.replace(text("retry"))
			g.until("lost answers are asked for once more", func() bool {
				for range 3 {
					if !completed() {
						return false
					}
				}
				return true
			})
		})
	}
}
