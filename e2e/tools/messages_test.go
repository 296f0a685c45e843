//go:build e2e

package tools

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// message sends a request to Messages, streamed and whole, and returns what a client builds of the stream. Both are
// read by the API's grammar.
func message(g *gateway, members string) grammar.Object {
	g.T.Helper()
	body := func(more string) string {
		return `{"model":"` + lab.Model + `","max_tokens":2000,` + members + more + `}`
	}
	stream := g.Do("POST", "messages", body(`,"stream":true`), 200)
	m, _, err := grammar.ReadMessages(stream.Body, false)
	if err != nil || stream.Header.Get("request-id") == "" {
		g.T.Fatalf("%v: %s", err, stream.Body)
	}
	whole := g.Do("POST", "messages", body(""), 200)
	other, err := grammar.ReadMessage(whole.Body)
	if err != nil {
		g.T.Fatalf("%v: %s", err, whole.Body)
	}
	if got, want := blockTypes(other), blockTypes(m); got != want {
		g.T.Errorf("streamed %s, whole %s", want, got)
	}
	return m
}

// blockTypes are the types of a message's blocks.
func blockTypes(m grammar.Object) string {
	var types []string
	for _, block := range m["content"].([]any) {
		types = append(types, block.(grammar.Object)["type"].(string))
	}
	return strings.Join(types, " ")
}

// jsonOf is the JSON of a value.
func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// searchScript is a search whose first page is opened, an answer, and what follows.
var searchScript = []sim.Line{
	asked("What is tea?", builtIn("browser.search", `{"query":"tea (history)"}`)),
	told("<|message|>[0] ", builtIn("browser.open", `{"id":0}`)),
	told("<|message|>[1] ", says("Tea is a drink【1†L1-L2】. It is old【1†L3】.")),
	asked("Go on.", says("There.")),
}

// TestMessagesSDK: Anthropic's own client reads streams and whole answers strictly, and both are the same.
func TestMessagesSDK(t *testing.T) {
	browser := toolservers.Browser(t)
	g := start(t, "wazero", configuration{servers: []string{at("web", browser.SSE(), "transport: sse")},
		settings: []string{"browser: web"}, environment: []string{sealKeys, storeKeys}, script: searchScript})
	command := exec.CommandContext(t.Context(), lab.Tool(t, "HARMONY_ANTHROPIC_PYTHON"), "testdata/messages.py", g.URL,
		lab.Model)
	command.WaitDelay = lab.Patience
	out, err := command.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 11 {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := strings.Join(lines[:5], "\n"), strings.Join(lines[5:10], "\n"); got != want {
		t.Errorf("whole\n%s\nstreamed\n%s", got, want)
	}
	for at, want := range map[int]string{
		0: "['thinking', 'server_tool_use', 'web_search_tool_result', 'thinking', 'server_tool_use', " +
			"'web_search_tool_result', 'text']",
		1:  "('web_search_result_location', ",
		2:  "('Tea (drink)', 'https://tea.example')",
		3:  "'" + teaAddress + "')]",
		4:  "end_turn 1 True True",
		10: "There.",
	} {
		if !strings.Contains(lines[at], want) {
			t.Errorf("line %d: %s, want %s", at, lines[at], want)
		}
	}
}

// TestMessagesSearch lets a client of Messages search the web, as Claude Code's WebSearch does. The next turn shows the
// model what it has read, also where the request does not have the tool and the service does not get it.
func TestMessagesSearch(t *testing.T) {
	onHosts(t, func(t *testing.T, host string) {
		browser := toolservers.Browser(t)
		g := start(t, host, configuration{servers: []string{at("web", browser.SSE(), "transport: sse")},
			settings: []string{"browser: web"}, environment: []string{sealKeys, storeKeys},
			script: searchScript})
		const search = `"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":8}]`
		const question = `{"role":"user","content":"What is tea?"}`
		const thinks = `"thinking":{"type":"adaptive"},`
		m := message(g, thinks+`"messages":[`+question+`],`+search)
		if got := blockTypes(m); got != strings.Repeat("thinking server_tool_use web_search_tool_result ", 2)+"text" ||
			m["stop_reason"] != "end_turn" {
			t.Fatalf("%s: %s", got, jsonOf(m))
		}
		blocks := m["content"].([]any)
		if text := blocks[6].(grammar.Object); len(text["citations"].([]any)) != 2 ||
			!strings.Contains(text["text"].(string), "(https://tea.example/wiki/") {
			t.Errorf("%v", text)
		}
		opened := blocks[5].(grammar.Object)["content"].([]any)[0].(grammar.Object)
		if opened["url"] != teaAddress || strings.Contains(opened["encrypted_content"].(string), "clear.") {
			t.Errorf("%v", opened)
		}
		served := jsonOf(m["usage"].(grammar.Object)["server_tool_use"])
		if served != `{"web_fetch_requests":0,"web_search_requests":1}` {
			t.Errorf("%s", served)
		}
		if blocks[0].(grammar.Object)["signature"] == "" {
			t.Error("reasoning without a signature")
		}
		// The turn goes on in the next request: the model reads all again, with the tool and without.
		for _, tools := range []string{`,` + search, ""} {
			message(g, thinks+`"messages":[`+question+`,{"role":"assistant","content":`+jsonOf(blocks[:6])+
				`},{"role":"user","content":"Go on."}]`+tools)
			g.InOrder("What is tea?", "<|channel|>analysis<|message|>I need browser.search.", "to=browser.search",
				`{"query":"tea (history)"}`, "<|start|>browser.search to=assistant<|channel|>analysis", "[0] ",
				"to=browser.open", `{"id":0}`, "[1] ", "Go on.")
		}
		// A finished turn leaves its reasoning behind, and the browser with it.
		message(g, `"messages":[`+question+`,{"role":"assistant","content":`+jsonOf(blocks)+
			`},{"role":"user","content":"Go on."}]`)
		if prompt := g.LastPrompt(); strings.Contains(prompt, "browser") || !strings.Contains(prompt, "Tea is a drink") {
			t.Errorf("%s", prompt)
		}
		count := g.Do("POST", "messages/count_tokens", `{"model":"`+lab.Model+`","messages":[`+question+`],`+search+`}`, 200)
		if !strings.HasPrefix(count.Body, `{"input_tokens":`) {
			t.Errorf("%s", count.Body)
		}
	})
}

// The variables of the environment with keys: of reasoning, and of the store.
const (
	sealKeys  = "HARMONY_SEAL_KEYS=a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	storeKeys = "HARMONY_STORE_KEYS=test:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

// TestMessagesTools has tools of an MCP server and of the client in one message.
func TestMessagesTools(t *testing.T) {
	plain := toolservers.Plain(t, toolservers.Texts("now", func(context.Context, json.RawMessage) (string, error) {
		return "It is noon.", nil
	}))
	g := start(t, "wazero", configuration{servers: []string{at("clock", plain.Streamable())}, script: []sim.Line{
		asked("Do it.", both(calls("now", `{"zone":"Asia"}`), call("read", `{"path":"a"}`))),
		told("noon", says("Done.")),
	}})
	m := message(g, `"messages":[{"role":"user","content":"Do it."}],"tools":[{"type":"mcp_toolset",`+
		`"mcp_server_name":"clock"},{"name":"read","input_schema":{"type":"object"}}]`)
	if got := blockTypes(m); got != "mcp_tool_use mcp_tool_result tool_use" || m["stop_reason"] != "tool_use" {
		t.Errorf("%s: %s", got, jsonOf(m))
	}
	// What nothing runs is refused, with the words that say what to set.
	a := g.Do("POST", "messages", `{"model":"`+lab.Model+`","max_tokens":9,"messages":[{"role":"user","content":"q"}],`+
		`"tools":[{"type":"web_search_20250305","name":"web_search"}]}`, 400)
	if err := grammar.ReadMessagesError(a.Body); err != nil || !strings.Contains(a.Body,
		"responses_service.tools.browser") {
		t.Errorf("%v: %s", err, a.Body)
	}
}
