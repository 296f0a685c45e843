//go:build e2e

package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// builtIn is the model's call of one of its own tools, as it is trained to write it.
func builtIn(name, content string) string {
	return "<|channel|>analysis<|message|>I need " + name + ".<|end|><|start|>assistant to=" + name +
		"<|channel|>analysis code<|message|>" + content + "<|call|>"
}

// teaAddress is the address of the first page that is found.
const teaAddress = "https://tea.example/wiki/Tea_(drink)?lang=en&q=caf%C3%A9"

// TestSearch searches, opens, finds and cites, as the reference does. A further turn cites a page of the first one.
func TestSearch(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		browser := toolservers.Browser(t)
		g := start(t, host, configuration{servers: []string{at("web", browser.SSE(), "transport: sse")},
			settings: []string{"browser: web"},
			script: []sim.Line{
				asked("What is tea?", builtIn("browser.search", `{"query":"tea (history)"}`)),
				told("<|message|>[0] ", builtIn("browser.open", `{"id":0}`)),
				told("<|message|>[1] ", builtIn("browser.find", `{"pattern":"Green"}`)),
				told("<|message|>[2] ", says("Tea is a drink【1†L1-L2】. é It is old【1†L3】, and unknown【9†L1】.")),
				asked("Where was that?", says("There【1†L2】.")),
			}})
		const web = `{"type":"web_search"}`
		one, events := g.Stream(ask("What is tea?", web))
		if got := one.Types(); got != strings.Repeat("reasoning web_search_call ", 3)+"message" || one.Status != "completed" {
			t.Fatalf("%s: %+v", got, one)
		}
		for i, want := range []string{
			`{"type":"search","query":"tea (history)","queries":["tea (history)"]}`,
			`{"type":"open_page","url":"` + teaAddress + `"}`,
			`{"type":"find_in_page","url":"` + teaAddress + `","pattern":"Green"}`,
		} {
			if c := one.Of("web_search_call")[i]; !sameJSON(string(c.Action), want) || c.Status != "completed" {
				t.Errorf("%s, want %s", c.Action, want)
			}
		}
		cites(t, one, 2)
		if strings.Contains(one.Text(), "1†") || !strings.Contains(one.Text(), "【9†L1】") {
			t.Errorf("%s", one.Text())
		}
		for _, name := range []string{"in_progress", "searching", "completed"} {
			if n := strings.Count(events, "event: response.web_search_call."+name+"\n"); n != 3 {
				t.Errorf("%d events %s", n, name)
			}
		}
		// The model sees what it wrote, and its own tools in the system message.
		g.InOrder("namespace browser {", "What is tea?", "to=browser.search",
			"<|start|>browser.search to=assistant<|channel|>analysis",
			"[0] ", "to=browser.open", "[1] ", "to=browser.find", "[2] ")
		// All calls of a chain have one id, so that they share their pages. Another chain has another.
		two := g.Create(after(one) + ask("Where was that?", web))
		cites(t, two, 1)
		g.Create(ask("What is tea?", web))
		ids := map[string]int{}
		for _, c := range browser.Calls() {
			ids[c.ClientID]++
		}
		if len(ids) != 2 || ids[""] != 0 {
			t.Errorf("calls by client id: %v", ids)
		}
	})
}

// cites wants so many citations, each of a link in the text.
func cites(t *testing.T, r *response, n int) {
	t.Helper()
	messages := r.Of("message")
	content := messages[len(messages)-1].Content[0]
	if len(content.Annotations) != n {
		t.Errorf("%d citations in %+v, want %d", len(content.Annotations), content, n)
	}
	for _, a := range content.Annotations {
		text := []rune(content.Text)
		if a.StartIndex < 0 || a.EndIndex > len(text) || a.StartIndex >= a.EndIndex || a.Type != "url_citation" ||
			a.URL != teaAddress ||
			!strings.Contains(string(text[a.StartIndex:a.EndIndex]), "(https://tea.example/wiki/") {
			t.Errorf("%+v in %q", a, content.Text)
		}
	}
}

// TestSearchFails has searches that fail. The model is told.
func TestSearchFails(t *testing.T) {
	dying := toolservers.Rude(t, toolservers.Hangs)
	g := start(t, "wazero", configuration{servers: []string{at("web", dying.Streamable())},
		settings: []string{"browser: web", "call_time: 1s"},
		script: []sim.Line{asked("What is tea?", builtIn("browser.search", `{"query":"tea"}`)),
			asked("Search badly.", builtIn("browser.search", `{"query":`)), told("", says("I do not know."))}})
	for _, question := range []string{"What is tea?", "Search badly."} {
		r, _ := g.Stream(ask(question, `{"type":"web_search"}`))
		if c := r.Of("web_search_call"); len(c) != 1 || c[0].Status != "failed" || r.Text() != "I do not know." ||
			r.Status != "completed" {
			t.Errorf("%+v", r)
		}
	}
}

// TestCode runs the model's code. Its output is shown if the client asks for it.
func TestCode(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		server := toolservers.Python(t, nil)
		g := start(t, host, configuration{servers: []string{at("py", server.SSE(), "transport: sse")},
			settings: []string{"python: py"},
			script: []sim.Line{
				asked("What is six times seven?", builtIn("python", "print(6*7)")), told("42", says("It is 42.")),
				asked("Divide.", builtIn("python", "1/0")), told("ZeroDivisionError", says("It cannot be done.")),
			}})
		const code = `{"type":"code_interpreter","container":{"type":"auto"}}`
		for _, included := range []bool{false, true} {
			members := ask("What is six times seven?", code)
			if included {
				members += `,"include":["code_interpreter_call.outputs"]`
			}
			r, _ := g.Stream(members)
			c := r.Of("code_interpreter_call")
			if r.Types() != "reasoning code_interpreter_call message" || r.Text() != "It is 42." || c[0].Code != "print(6*7)" {
				t.Fatalf("%+v", r)
			}
			if got := fmt.Sprint(c[0].Outputs); included != (got == "[{logs 42\n}]") || !included && len(c[0].Outputs) > 0 {
				t.Errorf("outputs %q, asked for: %t", got, included)
			}
		}
		g.InOrder("What is six times seven?", "<|start|>assistant to=python<|channel|>analysis", "print(6*7)",
			"<|start|>python to=assistant", "42")
		if r := g.Create(ask("Divide.", code)); r.Text() != "It cannot be done." ||
			r.Of("code_interpreter_call")[0].Status != "completed" {
			t.Errorf("%+v", r)
		}
		if string(server.Calls()[0].Arguments) != `{"code":"print(6*7)"}` {
			t.Errorf("the server got %s", server.Calls()[0].Arguments)
		}
	})
}

// TestContainer runs commands in gpt-oss's container. OpenAI's API has no item for that: they are calls of an MCP
// server.
func TestContainer(t *testing.T) {
	server := toolservers.Container(t, nil)
	g := start(t, "wazero", configuration{servers: []string{at("box", server.SSE(), "transport: sse")},
		settings: []string{"container: box"}, script: []sim.Line{
			asked("Say hello.", builtIn("container.exec", `{"cmd":["echo","hello"]}`)), told("hello", says("It says hello.")),
		}})
	r, _ := g.Stream(ask("Say hello.", mcp("box")))
	c := r.Of("mcp_call")
	if len(c) != 1 || c[0].Name != "exec" || output(c[0]) != "hello\n" || r.Text() != "It says hello." {
		t.Errorf("%+v", r)
	}
	g.InOrder("namespace container {", "to=container.exec", "hello")
}

// TestAllTools has every kind of tool in one response.
func TestAllTools(t *testing.T) {
	browser, python, plain := toolservers.Browser(t), toolservers.Python(t, nil), counter(t, "a")
	g := start(t, "envoy", configuration{servers: []string{at("web", browser.SSE()), at("py", python.SSE()),
		at("a", plain.Streamable())},
		settings: []string{"browser: web", "python: py"}, script: []sim.Line{
			asked("Do it all.", builtIn("browser.search", `{"query":"tea"}`)),
			told("<|message|>[0] ", builtIn("python", "print(6*7)")),
			told("42", calls("count", `{}`)),
			told("a counts 1", says("Done.")),
		}})
	r, _ := g.Stream(ask("Do it all.", `{"type":"web_search"}`, `{"type":"code_interpreter","container":{"type":"auto"}}`,
		mcp("a")))
	if got := r.Types(); got != "mcp_list_tools reasoning web_search_call reasoning code_interpreter_call "+
		"reasoning mcp_call message" {
		t.Errorf("%s", got)
	}
	usageAddsUp(t, g, 0, r)
}

// sameJSON reports whether two texts are the same JSON.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}
