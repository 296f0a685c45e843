//go:build e2e

package tools

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestToolSearch: the model finds a tool of an MCP server and a function of the client's, and calls both. Their
// declarations stand in the prompt behind what has found them, so that it begins as the one before it. The same history
// is read from a chain, from the items that the client sends back, and without the service.
func TestToolSearch(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		server := toolservers.Plain(t, tool("list_orders", answering("order 7")), tool("pay", answering("paid")))
		g := start(t, host, configuration{servers: []string{at("crm", server.Streamable())},
			settings: []string{"tool_search: bm25"},
			script: []sim.Line{
				asked("Which orders are open?", calls("tool_search", `{"query":"list the orders","limit":1}`)),
				told("// crm (list_orders): Orders.\nnamespace functions {\n\ntype list_orders", calls("list_orders", `{}`)),
				told("order 7", calls("tool_search", `{"query":"weather forecast","limit":1}`)),
				told("// The forecast.", calls("weather", `{"city":"Paris"}`)),
				told("It rains.", says("Order 7, in the rain.")),
				asked("And now?", says("As before.")),
			}})
		const weather = `{"type":"function","name":"weather","description":"The forecast.","defer_loading":true,` +
			`"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}`
		tools := []string{`{"type":"tool_search"}`, weather,
			mcp("crm", `"defer_loading":true`, `"server_description":"Orders."`)}
		one, _ := g.Stream(ask("Which orders are open?", tools...))
		const found = "reasoning tool_search_call tool_search_output "
		if got := one.Types(); got != "mcp_list_tools "+found+"reasoning mcp_call "+found+"reasoning function_call" {
			t.Fatalf("%s: %s", got, g.LastPrompt())
		}
		first := g.Prompts()[0]
		if strings.Contains(first, "type list_orders") || strings.Contains(first, "type weather") ||
			!strings.Contains(first, "crm (tools: 2): Orders.") || !strings.Contains(first, "weather: The forecast.") {
			t.Errorf("the first prompt: %s", first)
		}
		last := ""
		for _, prompt := range g.Prompts() {
			if !strings.HasPrefix(prompt, last) {
				t.Errorf("%s\ndoes not begin with\n%s", prompt, last)
			}
			last = strings.TrimSuffix(prompt, "<|start|>assistant")
		}

		call := one.Output[len(one.Output)-1]
		result := `{"type":"function_call_output","call_id":"` + call.CallID + `","output":"It rains."}`
		two := g.Create(after(one) + `"input":[` + result + `],` + with(tools...))
		if two.Text() != "Order 7, in the rain." {
			t.Errorf("%+v", two)
		}
		chained := g.Prompts()[len(g.Prompts())-1]
		if strings.Count(chained, "type list_orders") != 1 || strings.Count(chained, "type weather") != 1 ||
			!strings.HasPrefix(chained, last) {
			t.Errorf("the prompt of a chain: %s", chained)
		}
		// The client's own history is the same prompt, with the service and without it.
		history := `"store":false,"input":[{"role":"user","content":"Which orders are open?"},` + rawOutput(g, one.ID) + `,` +
			result + `],`
		for _, tools := range [][]string{tools, {weather, `{"type":"tool_search","execution":"client"}`}} {
			if r := g.Create(history + with(tools...)); r.Text() != "Order 7, in the rain." {
				t.Errorf("%+v", r)
			}
			if sent := g.Prompts()[len(g.Prompts())-1]; !strings.HasSuffix(sent, behind(chained, "Which orders are open?")) {
				t.Errorf("%s\nwant as in\n%s", sent, chained)
			}
		}
	})
}

func behind(text, mark string) string { return text[strings.Index(text, mark):] }

// TestToolSearchOff: without the setting all tools are shown.
func TestToolSearchOff(t *testing.T) {
	g := start(t, "wazero", configuration{settings: []string{"others: ignore", "allow: [mcp.example.com]"},
		script: []sim.Line{asked("Hi.", says("Ho."))}})
	r := g.Create(ask("Hi.", `{"type":"tool_search"}`, `{"type":"function","name":"weather","defer_loading":true}`))
	prompt := g.LastPrompt()
	if r.Text() != "Ho." || !strings.Contains(prompt, "type weather") || strings.Contains(prompt, "tool_search") {
		t.Errorf("%+v: %s", r, prompt)
	}
}
