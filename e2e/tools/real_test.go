//go:build e2e

package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestReferenceServers calls the reference's own servers of MCP, over each transport.
func TestReferenceServers(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		streamable, sse := runEverything(t, "streamableHttp"), runEverything(t, "sse")
		g := start(t, host, configuration{
			servers: []string{
				at("streamable", streamable+"/mcp"), at("sse", sse+"/sse", "transport: sse"), at("either", sse+"/sse"),
				"label: stdio, command: " + quoted(t, everythingCommand(t, "stdio")),
				"label: time, command: " + quoted(t, timeCommand(t)),
			},
			script: []sim.Line{
				asked("Echo a banana.", calls("echo", `{"message":"a banana"}`)),
				told("Echo: a banana", says("It says: a banana.")),
				asked("Add two and three.", calls("get-sum", `{"a":2,"b":3}`)),
				told("The sum of 2 and 3 is 5", says("Five.")),
				asked("Show a picture.", calls("get-tiny-image", `{}`)),
				told(`"mimeType":"image/png"`, says("A picture.")),
				asked("What is noon here in Kolkata?", calls("convert_time",
					`{"source_timezone":"UTC","time":"12:00","target_timezone":"Asia/Kolkata"}`)),
				told("17:30:00+05:30", says("Half past five.")),
				asked("What is noon on the moon?", calls("get_current_time", `{"timezone":"Moon/Base"}`)),
				told("Invalid timezone", says("It has none.")),
			}})
		for _, label := range []string{"streamable", "sse", "either", "stdio"} {
			t.Run(label, func(t *testing.T) { everything(t, g.In(t), label) })
		}
		t.Run("time", func(t *testing.T) {
			g := g.In(t)
			r, _ := g.Stream(ask("What is noon here in Kolkata?", mcp("time")))
			if c := r.Of("mcp_call"); r.Text() != "Half past five." || len(c) != 1 || !strings.Contains(output(c[0]), "17:30") {
				t.Errorf("%+v", r)
			}
			r = g.Create(ask("What is noon on the moon?", mcp("time")))
			c := r.Of("mcp_call")
			if len(c) != 1 || c[0].Status != "failed" || r.Text() != "It has none." {
				t.Fatalf("%+v", r)
			}
			if kind, whole := errorOf(c[0]); kind != "mcp_tool_execution_error" || !strings.Contains(whole, "Invalid timezone") {
				t.Errorf("the error is %s", whole)
			}
		})
	})
}

// everything lists and calls the reference's server with a tool of each kind.
func everything(t *testing.T, g *gateway, label string) {
	r, _ := g.Stream(ask("Echo a banana.", mcp(label)))
	if got := r.Types(); got != "mcp_list_tools reasoning mcp_call message" || r.Status != "completed" {
		t.Fatalf("%s: %+v", got, r)
	}
	listed, called := r.Output[0], r.Output[2]
	names := map[string]bool{}
	for _, tool := range listed.Tools {
		names[tool.Name] = true
	}
	if listed.ServerLabel != label || !names["echo"] || !names["get-sum"] || !names["get-tiny-image"] {
		t.Errorf("%+v", listed)
	}
	if called.ServerLabel != label || called.Name != "echo" || called.Arguments != `{"message":"a banana"}` ||
		output(called) != "Echo: a banana" || called.Status != "completed" || r.Text() != "It says: a banana." {
		t.Errorf("%+v", r)
	}
	// Only what is allowed is listed, and shown to the model.
	r = g.Create(ask("Add two and three.", mcp(label, `"allowed_tools":["get-sum"]`)))
	if len(r.Output[0].Tools) != 1 || r.Output[0].Tools[0].Name != "get-sum" || r.Text() != "Five." ||
		strings.Contains(g.LastPrompt(), "type echo") {
		t.Errorf("%+v", r)
	}
	// The model gets no bytes of a picture.
	r = g.Create(ask("Show a picture.", mcp(label)))
	if r.Text() != "A picture." || strings.Contains(g.LastPrompt(), "iVBOR") {
		t.Errorf("%+v", r)
	}
}

// TestServersOfOneName has two servers with the same tools in one request. Each call goes to its own.
func TestServersOfOneName(t *testing.T) {
	one, two := counter(t, "one"), counter(t, "two")
	g := start(t, "wazero", configuration{
		servers: []string{at("first", one.Streamable()), at("second", two.SSE(), "transport: sse")},
		script: []sim.Line{
			asked("Count with both.", both(call("first__count", `{}`), call("second__count", `{}`))),
			told("two counts 1", says("Both have counted.")),
		}})
	r := g.Create(ask("Count with both.", mcp("first"), mcp("second")))
	c := r.Of("mcp_call")
	if len(c) != 2 || r.Text() != "Both have counted." {
		t.Fatalf("%+v", r)
	}
	for i, want := range []struct{ label, text string }{{"first", "one counts 1"}, {"second", "two counts 1"}} {
		if c[i].ServerLabel != want.label || c[i].Name != "count" || output(c[i]) != want.text {
			t.Errorf("%+v, want %+v", c[i], want)
		}
	}
	if len(one.Calls()) != 1 || len(two.Calls()) != 1 {
		t.Errorf("%d and %d calls", len(one.Calls()), len(two.Calls()))
	}
}

// quoted is a list of texts as YAML.
func quoted(t *testing.T, texts []string) string {
	t.Helper()
	b, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// usageAddsUp wants the usage of a response to be the sum over the rounds from the first one on.
func usageAddsUp(t *testing.T, g *gateway, first int, r *response) {
	t.Helper()
	var in, out, results int
	for i, round := range lab.Completions(g.Sim)[first:] {
		if i > 0 {
			before := lab.Completions(g.Sim)[first+i-1]
			results += len(round.PromptIDs) - len(before.PromptIDs) - before.TokensSent
		}
		in, out = in+len(round.PromptIDs), out+round.TokensSent
	}
	u := r.Usage
	if got := fmt.Sprint(u.InputTokens, u.OutputTokens, u.TotalTokens); got != fmt.Sprint(in, out, in+out) {
		t.Errorf("usage %+v, want %d and %d tokens", u, in, out)
	}
	if u.OutputDetails.ToolOutputTokens <= 0 || u.OutputDetails.ToolOutputTokens > results+20 {
		t.Errorf("%d tokens of tools, of about %d", u.OutputDetails.ToolOutputTokens, results)
	}
}
