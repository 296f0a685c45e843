package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// cited is an answer whose text comes in pieces.
func cited(pieces ...string) string {
	const id = `"item_id":"msg_c","output_index":0,"content_index":0`
	text := strings.Join(pieces, "")
	item := func(status, content string) string {
		return `"output_index":0,"item":{"id":"msg_c","type":"message","role":"assistant","status":"` + status +
			`","phase":"final_answer","content":[` + content + `]}`
	}
	part := func(text string) string {
		return `{"type":"output_text","text":` + string(items.JSON(text)) + `,"annotations":[],"logprobs":[]}`
	}
	var b strings.Builder
	add := func(kind, members string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,\"sequence_number\":0,%s}\n\n", kind, kind, members)
	}
	add("response.output_item.added", item("in_progress", ""))
	add("response.content_part.added", id+`,"part":`+part(""))
	for _, piece := range pieces {
		add("response.output_text.delta", id+`,"delta":`+string(items.JSON(piece))+`,"logprobs":[]`)
	}
	add("response.output_text.done", id+`,"text":`+string(items.JSON(text))+`,"logprobs":[]`)
	add("response.content_part.done", id+`,"part":`+part(text))
	add("response.output_item.done", item("completed", part(text)))
	whole := answerOf("completed", 30, 5)
	at := strings.Index(whole, "event: response.completed")
	return whole[:at] + b.String() + whole[at:]
}

func pythonItem(code string) string {
	return string(items.JSON(map[string]string{"type": "custom_tool_call", "id": items.NewID("ctc"),
		"call_id": items.NewID("call"),
		"status":  "completed", "name": "python", "input": code}))
}

func TestBrowserAndPython(t *testing.T) {
	browser, python := toolservers.Browser(t), toolservers.Python(t, map[string]string{"print(6*7)": "42\n"})
	gateway := &script{answers: []string{
		answerOf("completed", 10, 5, callItem("", "browser.search", `{"query":"go"}`)),
		answerOf("completed", 20, 5, callItem("", "browser.open", `{"id":0,"cursor":0}`)),
		answerOf("completed", 20, 5, pythonItem("print(6*7)")),
		cited("It is so【1†", "L1-L2】, they say."),
	}}
	f := startAt(t, running(ToolOptions{Servers: []ToolServer{{Label: "web", URL: browser.Streamable()},
		{Label: "py", URL: python.Streamable()}}, Browser: "web", Python: "py"}), gateway)
	const tools = `"tools":[{"type":"web_search"},{"type":"code_interpreter","container":{"type":"auto"}}]`
	_, body := f.do("POST", "/v1/responses",
		`{"model":"m","stream":true,"include":["code_interpreter_call.outputs"],"input":"go",`+
			tools+`}`)
	events, err := readEvents(strings.NewReader(body))
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	var last struct{ Response toolResponse }
	text, annotations := "", 0
	for _, e := range events {
		var delta struct{ Delta string }
		switch e.Kind {
		case "response.output_text.delta":
			_ = json.Unmarshal(e.Data, &delta)
			text += delta.Delta
		case "response.output_text.annotation.added":
			annotations++
			if !strings.Contains(string(e.Data), `"output_index":3`) {
				t.Errorf("%s", e.Data)
			}
		}
	}
	if err := json.Unmarshal(events[len(events)-1].Data, &last); err != nil {
		t.Fatal(err)
	}
	r := last.Response
	if r.types() != "web_search_call web_search_call code_interpreter_call message" {
		t.Fatalf("%s", body)
	}
	opened := r.Output[1]["action"].(map[string]any)
	part := r.Output[3]["content"].([]any)[0].(map[string]any)
	if opened["type"] != "open_page" || annotations != 1 || part["text"] != text || strings.Contains(text, "【") ||
		len(part["annotations"].([]any)) != 1 || strings.Contains(body, items.HiddenPrefix) {
		t.Errorf("%v %v %q", opened, part, text)
	}
	if logs := fmt.Sprint(r.Output[2]["outputs"]); !strings.Contains(logs, "42") {
		t.Errorf("%v", r.Output[2])
	}
	clients := map[string]bool{}
	for _, call := range browser.Calls() {
		clients[call.ClientID] = true
	}
	if len(clients) != 1 || clients[""] {
		t.Errorf("the browser's clients are %v", clients)
	}
	// The chain goes on with the same browser, and the model sees what it has written.
	gateway.answers = []string{answerOf("completed", 20, 5, callItem("", "browser.find", `{"pattern":"a","cursor":1}`)),
		answerOf("completed", 20, 5, textItem("done"))}
	next := f.ask(`"input":"more","previous_response_id":"` + r.ID + `",` + tools)
	calls := browser.Calls()
	if next.types() != "web_search_call message" || !clients[calls[len(calls)-1].ClientID] {
		t.Errorf("%+v", next)
	}
	if asked := gateway.last(); !strings.Contains(asked, "【1†L1-L2】") || strings.Contains(asked, "web_search_call") ||
		!strings.Contains(asked, `"name":"browser.open"`) || !strings.Contains(asked, `"input":"print(6*7)"`) ||
		!strings.Contains(asked, `{"name":"browser","type":"builtin"}`) {
		t.Errorf("the gateway is asked %s", asked)
	}
	_, stored := f.do("GET", "/v1/responses/"+r.ID+"?include[]=web_search_call.action.sources", "")
	if !strings.Contains(stored, `"sources":[{"type":"url","url":"https://tea.example/`) {
		t.Errorf("%s", stored)
	}
	_, stored = f.do("GET", "/v1/responses/"+r.ID, "")
	if strings.Contains(stored, items.HiddenPrefix) || !strings.Contains(stored, `"outputs":null`) ||
		strings.Contains(stored, "sources") {
		t.Errorf("%s", stored)
	}
}

// A client that sends the items of an answer back, and not its id, gives the model the results that it has not seen.
func TestBuiltinItemsSentBack(t *testing.T) {
	browser, python := toolservers.Browser(t), toolservers.Python(t, map[string]string{"print(6*7)": "42\n"})
	gateway := &script{answers: []string{
		answerOf("completed", 10, 5, callItem("", "browser.search", `{"query":"go"}`)),
		answerOf("completed", 20, 5, pythonItem("print(6*7)")),
		answerOf("completed", 20, 5, textItem("done")),
	}}
	f := startAt(t, running(ToolOptions{Servers: []ToolServer{{Label: "web", URL: browser.Streamable()},
		{Label: "py", URL: python.Streamable()}}, Browser: "web", Python: "py"}), gateway)
	const tools = `"tools":[{"type":"web_search"},{"type":"code_interpreter","container":{"type":"auto"}}]`
	r := f.ask(`"input":"go",` + tools)
	if r.types() != "web_search_call code_interpreter_call message" {
		t.Fatalf("%+v", r)
	}
	client := browser.Calls()[0].ClientID
	again := append(r.Output, map[string]any{"role": "user", "content": "and?"})
	gateway.answers = []string{answerOf("completed", 10, 5, callItem("", "browser.open", `{"id":0}`)),
		answerOf("completed", 20, 5, textItem("done"))}
	f.ask(`"input":` + string(items.JSON(again)) + `,` + tools)
	if asked := gateway.last(); !strings.Contains(asked, "viewing lines") || !strings.Contains(asked, `"output":"42\n"`) ||
		strings.Contains(asked, "web_search_call") || browser.Calls()[1].ClientID != client {
		t.Errorf("%s", asked)
	}
	// An item that was never stored is as the client knows it.
	f.ask(`"store":false,"input":[{"type":"code_interpreter_call","id":"ci_0","status":"completed","container_id":"auto",` +
		`"code":"print(1)","outputs":[{"type":"logs","logs":"1"}]},{"role":"user","content":"and?"}],` + tools)
	if asked := gateway.last(); !strings.Contains(asked, `"input":"print(1)"`) || !strings.Contains(asked,
		`"output":"1"`) {
		t.Errorf("%s", asked)
	}
}

// The server of a tool of gpt-oss's own can be named as an MCP server too.
func TestBuiltinByLabel(t *testing.T) {
	python := toolservers.Python(t, map[string]string{"print(6*7)": "42\n"})
	for _, c := range []struct{ tool, types, asked string }{
		{`"require_approval":"never"`, "code_interpreter_call message", `"type":"builtin"`},
		{`"require_approval":"never","authorization":"k3y"`, "mcp_list_tools message", `"type":"namespace"`},
		{`"require_approval":"never","allowed_tools":["python"]`, "mcp_list_tools message", `"type":"namespace"`},
		{`"server_description":"x"`, "mcp_list_tools message", `"type":"namespace"`},
	} {
		gateway := &script{answers: []string{answerOf("completed", 20, 5, textItem("done"))}}
		if strings.Contains(c.asked, "builtin") {
			gateway.answers = append([]string{answerOf("completed", 10, 5, pythonItem("print(6*7)"))}, gateway.answers...)
		}
		f := startAt(t, running(ToolOptions{Servers: []ToolServer{{Label: "py", URL: python.Streamable()}},
			Python: "py"}), gateway)
		r := f.ask(`"input":"go","tools":[{"type":"mcp","server_label":"py",` + c.tool + `}],` +
			`"tool_choice":{"type":"mcp","server_label":"py"}`)
		_, stored := f.do("GET", "/v1/responses/"+r.ID, "")
		if r.types() != c.types || !strings.Contains(gateway.last(), c.asked) || strings.Contains(stored, "k3y") {
			t.Errorf("%s: %+v %s", c.tool, r, gateway.last())
		}
	}
}

// TestBuiltinAllowedTools: a tool that the operator does not allow is not called, whatever the model writes.
func TestBuiltinAllowedTools(t *testing.T) {
	browser := toolservers.Browser(t)
	gateway := &script{answers: []string{
		answerOf("completed", 10, 5, callItem("", "browser.open", `{"id":"https://tea.example/"}`)),
		answerOf("completed", 20, 5, textItem("done")),
	}}
	f := startAt(t, running(ToolOptions{Servers: []ToolServer{{Label: "web", URL: browser.Streamable(),
		AllowedTools: []string{"search"}}}, Browser: "web"}), gateway)
	r := f.ask(`"input":"go","tools":[{"type":"web_search"}]`)
	if r.types() != "web_search_call message" || r.Output[0]["status"] != items.Failed || len(browser.Calls()) != 0 ||
		!strings.Contains(gateway.last(), "no tool of this name") {
		t.Errorf("%+v %s", r, gateway.last())
	}
}
