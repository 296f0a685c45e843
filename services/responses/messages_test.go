package responses

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// message is an answer of Messages.
type message struct {
	ID         string            `json:"id"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Server struct {
			Searches int `json:"web_search_requests"`
		} `json:"server_tool_use"`
	} `json:"usage"`
	Error struct{ Type, Message string }
}

// types are the types of the blocks of a message, in their order.
func (m *message) types() string {
	var all []string
	for _, raw := range m.Content {
		all = append(all, items.Of(raw).Type)
	}
	return strings.Join(all, " ")
}

// messagesBody is a request to Messages with these members.
func messagesBody(members string) string { return `{"model":"m","max_tokens":500,` + members + `}` }

// asksQ are the messages of a question.
const asksQ = `"messages":[{"role":"user","content":"q"}],`

const searchTool = `"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":8}]`

// messages asks for a whole message.
func (f *fixture) messages(members string) (int, *message) {
	f.t.Helper()
	status, body := f.do("POST", "/v1/messages", messagesBody(members))
	m := &message{}
	if err := json.Unmarshal([]byte(body), m); err != nil {
		f.t.Fatalf("%s: %d %s", members, status, body)
	}
	return status, m
}

// builtFrom builds the message that a stream tells, as a client does.
func builtFrom(t *testing.T, stream string) *message {
	t.Helper()
	m := &message{}
	var block map[string]any
	pieces := ""
	for part := range strings.SplitSeq(stream, "\n\n") {
		_, data, ok := strings.Cut(part, "\ndata: ")
		if !ok {
			continue
		}
		var e struct {
			Type    string
			Message json.RawMessage
			Block   map[string]any `json:"content_block"`
			Delta   struct {
				Type, Text, Thinking, Signature string
				Partial                         string `json:"partial_json"`
				Citation                        any
				StopReason                      string `json:"stop_reason"`
			}
			Usage json.RawMessage
			Error json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		switch e.Type {
		case "message_start":
			_ = json.Unmarshal(e.Message, m)
		case "content_block_start":
			block, pieces = e.Block, ""
		case "content_block_delta":
			pieces += e.Delta.Text + e.Delta.Thinking + e.Delta.Partial
			if e.Delta.Type == "signature_delta" {
				block["signature"] = e.Delta.Signature
			}
			if e.Delta.Citation != nil {
				list, _ := block["citations"].([]any)
				block["citations"] = append(list, e.Delta.Citation)
			}
		case "content_block_stop":
			switch kind := block["type"]; {
			case kind == "text", kind == "thinking":
				block[kind.(string)] = pieces
			case pieces != "":
				block["input"] = json.RawMessage(pieces)
			}
			m.Content = append(m.Content, items.JSON(block))
		case "message_delta":
			m.StopReason = e.Delta.StopReason
			_ = json.Unmarshal(e.Usage, &m.Usage)
		case "error":
			_ = json.Unmarshal(e.Error, &m.Error)
		}
	}
	return m
}

// sameBlocks compares the contents of two messages, apart from the ids and the seals.
func sameBlocks(a, b *message) bool {
	plain := func(m *message) (all []string) {
		for _, raw := range m.Content {
			var fields map[string]any
			_ = json.Unmarshal(raw, &fields)
			for _, name := range []string{"id", "tool_use_id"} {
				delete(fields, name)
			}
			text := string(items.JSON(fields))
			if _, rest, ok := strings.Cut(text, `"encrypted_content":"`); ok {
				_, rest, _ = strings.Cut(rest, `"`)
				text, _, _ = strings.Cut(text, `"encrypted_content":"`)
				text += rest
			}
			all = append(all, text)
		}
		return all
	}
	return slices.Equal(plain(a), plain(b))
}

// browsing is a service with a browser, before a gateway that answers by a script.
func browsing(t *testing.T, change func(*Options), answers ...string) (*fixture, *script, *toolservers.Server) {
	t.Helper()
	browser := toolservers.Browser(t)
	gateway := &script{answers: answers}
	o := running(ToolOptions{Servers: []ToolServer{{Label: "web", URL: browser.Streamable()}}, Browser: "web"})
	if change != nil {
		change(&o)
	}
	return startAt(t, o, gateway), gateway, browser
}

// TestMessagesSearch searches, opens and cites, streamed and whole. What comes back shows the model what it has read.
func TestMessagesSearch(t *testing.T) {
	answers := []string{
		answerOf("completed", 10, 5, callItem("", "browser.search", `{"query":"tea"}`)),
		answerOf("completed", 20, 5, callItem("", "browser.open", `{"id":0, "cursor":0}`)),
		cited("It is so【1†", "L1-L2】, they say."),
	}
	const question = `"messages":[{"role":"user","content":"What is tea?"}]`
	f, gateway, browser := browsing(t, nil, append(slices.Clone(answers), answers...)...)
	_, stream := f.do("POST", "/v1/messages", messagesBody(`"stream":true,`+question+`,`+searchTool))
	streamed := builtFrom(t, stream)
	asked := gateway.last()
	_, whole := f.messages(question + `,` + searchTool)
	for _, m := range []*message{streamed, whole} {
		if m.types() != "server_tool_use web_search_tool_result server_tool_use web_search_tool_result text" ||
			m.StopReason != "end_turn" || m.Usage.Server.Searches != 1 || m.Usage.Input < 40 || m.Usage.Output != 15 {
			t.Fatalf("%s %+v\n%s", m.types(), m, stream)
		}
		for at, want := range map[int]string{
			0: `"input":{"query":"tea"}`, 1: `"url":"https://`, 2: `"input":{"id":0, "cursor":0}`,
			3: `"url":"https://tea.example/wiki/`, 4: `"citations":[{`,
		} {
			tight := func(s string) string { return strings.ReplaceAll(s, " ", "") }
			if got := string(m.Content[at]); !strings.Contains(tight(got), tight(want)) {
				t.Errorf("block %d: %s, want %s", at, got, want)
			}
		}
	}
	if !sameBlocks(streamed, whole) || strings.Contains(stream, items.HiddenPrefix) {
		t.Errorf("%s\n%s", items.JSON(streamed.Content), items.JSON(whole.Content))
	}
	gateway.answers = []string{
		answerOf("completed", 20, 5, callItem("", "browser.find", `{"pattern":"a","cursor":1}`)), cited("done")}
	f.messages(`"messages":[{"role":"user","content":"What is tea?"},{"role":"assistant","content":` +
		string(items.JSON(streamed.Content)) + `},{"role":"user","content":"and?"}],` + searchTool)
	for _, want := range []string{`"name":"browser.search"`, `"name":"browser.open"`,
		`"arguments":"{\"id\":0, \"cursor\":0}"`, "viewing lines"} {
		if again := gateway.last(); !strings.Contains(again, want) || !strings.Contains(asked, want) {
			t.Errorf("the gateway is asked %s", again)
		}
	}
	calls := browser.Calls()
	if last := calls[len(calls)-1]; last.ClientID != calls[0].ClientID || calls[2].ClientID == calls[0].ClientID {
		t.Errorf("%+v", calls)
	}
}

// TestMessagesMaxUses: a search too many is not run, and the client and the model are told.
func TestMessagesMaxUses(t *testing.T) {
	search := answerOf("completed", 10, 5, callItem("", "browser.search", `{"query":"tea"}`))
	f, gateway, browser := browsing(t, nil, search, search, cited("done"))
	_, m := f.messages(asksQ + `"tools":[{"type":"web_search_20260209","name":"web_search","max_uses":1}]`)
	if m.types() != "server_tool_use web_search_tool_result server_tool_use web_search_tool_result text" ||
		!strings.Contains(string(m.Content[3]), `"error_code":"max_uses_exceeded"`) || m.Usage.Server.Searches != 1 ||
		len(browser.Calls()) != 1 || !strings.Contains(gateway.last(), "Error: max_uses_exceeded") {
		t.Errorf("%s %s", items.JSON(m), gateway.last())
	}
}

// TestMessagesOwnTools: the client's own call ends the message, behind everything else, and reasoning comes as it asks.
func TestMessagesOwnTools(t *testing.T) {
	reasoning := string(items.JSON(map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{},
		"encrypted_content": "s3aled", "content": []any{map[string]string{"type": "reasoning_text", "text": "Hm."}}}))
	answers := []string{answerOf("completed", 10, 5, reasoning, callItem("", "read", `{"path":"a"}`),
		callItem("", "browser.search", `{"query":"tea"}`), textItem("behind"))}
	keys, err := seal.ParseKeys("k1:" + strings.Repeat("A", 43) + "=")
	if err != nil {
		t.Fatal(err)
	}
	const rest = asksQ + `"tools":[{"type":"web_search_20250305","name":"web_search"},` +
		`{"name":"read","description":"Reads.","input_schema":{"type":"object"}}]`
	for thinking, want := range map[string]string{
		"": "redacted_thinking server_tool_use web_search_tool_result tool_use",
		`"thinking":{"type":"adaptive","display":"omitted"},`: "thinking server_tool_use web_search_tool_result tool_use",
	} {
		f, gateway, browser := browsing(t, func(o *Options) { o.SealKeys = keys }, answers...)
		_, m := f.messages(thinking + rest)
		if m.types() != want || m.StopReason != "tool_use" || !strings.Contains(string(m.Content[0]), "s3aled") ||
			!strings.Contains(string(m.Content[3]), `"input":{"path":"a"}`) || len(browser.Calls()) != 1 ||
			!strings.Contains(gateway.last(), `"reasoning.encrypted_content"`) {
			t.Errorf("%s: %s %+v", thinking, m.types(), m)
		}
		_, stream := f.do("POST", "/v1/messages", messagesBody(`"stream":true,`+thinking+rest))
		if got := builtFrom(t, stream); got.types() != want || got.StopReason != "tool_use" {
			t.Errorf("%s: %s", thinking, stream)
		}
	}
}

// TestMessagesMCP: servers that a request names, in the older form and in the newer one.
func TestMessagesMCP(t *testing.T) {
	for name, members := range map[string]string{
		"a toolset": `"tools":[{"type":"mcp_toolset","mcp_server_name":"my time","configs":{"secret":{"enabled":false}}}],` +
			`"mcp_servers":[{"type":"url","name":"my time","url":"URL","authorization_token":"t0ken"}]`,
		"the older form": `"mcp_servers":[{"type":"url","name":"my time","url":"URL","authorization_token":"t0ken",` +
			`"tool_configuration":{"allowed_tools":["now"]}}]`,
		"a server of the operator's": `"tools":[{"type":"mcp_toolset","mcp_server_name":"t",` +
			`"default_config":{"enabled":false},"configs":{"now":{"enabled":true}}}]`,
	} {
		label, shown := "my_time", "my time"
		if strings.Contains(name, "operator") {
			label, shown = "t", "t"
		}
		answers := []string{answerOf("completed", 10, 5, callItem(label, "now", `{"zone":"Asia"}`)),
			cited("It is noon.")}
		f, gateway, server := startTools(t, ToolOptions{Allow: []string{"127.0.0.1"}}, answers,
			toolservers.Texts("now", func(_ context.Context, _ json.RawMessage) (string, error) { return "noon", nil }),
			toolservers.Texts("secret", func(_ context.Context, _ json.RawMessage) (string, error) { return "", nil }))
		_, m := f.messages(asksQ + strings.ReplaceAll(members, "URL", server.Streamable()))
		if m.types() != "mcp_tool_use mcp_tool_result text" || m.StopReason != "end_turn" ||
			!strings.Contains(string(m.Content[0]), `"server_name":"`+shown+`"`) ||
			!strings.Contains(string(m.Content[1]), `"text":"noon"`) || strings.Contains(gateway.text(), `"secret"`) {
			t.Errorf("%s: %s %s", name, items.JSON(m), gateway.text())
			continue
		}
		gateway.answers = []string{answerOf("completed", 20, 5, textItem("done"))}
		f.messages(`"messages":[{"role":"user","content":"q"},{"role":"assistant","content":` +
			string(items.JSON(m.Content)) + `},{"role":"user","content":"and?"}],` +
			strings.ReplaceAll(members, "URL", server.Streamable()))
		for _, want := range []string{`"namespace":"` + label + `"`, `"name":"now"`, `"arguments":"{\"zone\":\"Asia\"}"`,
			`"output":"noon"`} {
			if !strings.Contains(gateway.last(), want) {
				t.Errorf("%s: the gateway is asked %s", name, gateway.last())
			}
		}
	}
}

// TestMessagesRefused: what cannot be done is an error in Anthropic's form, with the place in the client's own request.
func TestMessagesRefused(t *testing.T) {
	f, gateway, _ := browsing(t, nil, cited("done"))
	const search = `"tools":[{"type":"web_search_20250305","name":"web_search",`
	for members, want := range map[string]string{
		asksQ + `"tools":[{"name":"a"},{"type":"web_search_20250305","name":"web_search","allowed_domains":["a.b"]}]`: "" +
			"tools.1.allowed_domains: ",
		asksQ + search + `"blocked_domains":["a.b"]}]`: "tools.0.blocked_domains: ",
		asksQ + search + `"max_uses":0}]`:              "tools.0.max_uses: ",
		asksQ + `"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`: "" +
			"tools.0: The tool 'code_execution_20250825'",
		asksQ + `"stop_sequences":["x"],` + searchTool:                              "stop_sequences: ",
		asksQ + `"mcp_servers":[{"type":"url","name":"n","url":"https://a.b/mcp"}]`: "'mcp_servers.0.url'",
		asksQ + `"tools":[{"type":"mcp_toolset","mcp_server_name":"n"}]`:            "tools.0.mcp_server_name: ",
		`"messages":[],` + searchTool:                                               "messages: ",
	} {
		status, m := f.messages(members)
		if status != 400 || m.Error.Type != "invalid_request_error" || !strings.Contains(m.Error.Message, want) {
			t.Errorf("%s: %d %+v", members, status, m)
		}
	}
	f.change(func(o *Settings) { o.Tools.Browser = "" })
	if status, m := f.messages(asksQ + searchTool); status != 400 ||
		!strings.Contains(m.Error.Message, "responses_service.tools.browser") {
		t.Errorf("%d %+v", status, m)
	}
	f.change(func(o *Settings) {
		o.Tools.Servers = append(slices.Clone(o.Tools.Servers), ToolServer{Label: "t", URL: "http://127.0.0.1:1",
			RequireApproval: "always"})
	})
	if status, m := f.messages(asksQ + `"tools":[{"type":"mcp_toolset","mcp_server_name":"t"}]`); status != 400 ||
		!strings.Contains(m.Error.Message, "approval") {
		t.Errorf("%d %+v", status, m)
	}
	if len(gateway.asked) > 0 {
		t.Errorf("the gateway is asked %s", gateway.text())
	}
}

// TestMessagesFail: an error of the gateway's is one of Anthropic's API, with the id of the request. Tools that have
// run do not run again.
func TestMessagesFail(t *testing.T) {
	f, gateway, _ := browsing(t, nil, answerOf("completed", 10, 5, callItem("", "browser.search", `{"query":"tea"}`)),
		answerOf("failed", 10, 5), answerOf("completed", 10, 5, callItem("", "browser.search", `{"query":"tea"}`)),
		answerOf("failed", 10, 5))
	const members = asksQ + searchTool
	_, stream := f.do("POST", "/v1/messages", messagesBody(`"stream":true,`+members))
	if m := builtFrom(t, stream); m.Error.Type != "api_error" || m.StopReason != "" ||
		strings.Count(stream, "event: error\n") != 1 || !strings.HasSuffix(stream, "\n\n") {
		t.Errorf("%s", stream)
	}
	body := strings.NewReader(messagesBody(members))
	r, err := http.NewRequestWithContext(t.Context(), "POST", f.url+"/v1/messages", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-request-id", "r1")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var m struct {
		RequestID string `json:"request_id"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&m); err != nil || answer.StatusCode != 502 || m.RequestID != "r1" ||
		answer.Header.Get("request-id") != "r1" || answer.Header.Get("x-should-retry") != "false" {
		t.Errorf("%d %v %+v %v", answer.StatusCode, answer.Header, m, err)
	}
	if len(gateway.asked) != 4 {
		t.Errorf("%d questions", len(gateway.asked))
	}
}

// TestMessagesCount counts the tokens of the tools too.
func TestMessagesCount(t *testing.T) {
	f, gateway, _ := browsing(t, nil, "")
	status, body := f.do("POST", "/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"q"}],`+
		searchTool+`}`)
	if status != 200 || body != `{"input_tokens":7}` ||
		!strings.Contains(gateway.counted, `{"name":"browser","type":"builtin"}`) {
		t.Errorf("%d %s %s", status, body, gateway.counted)
	}
}

// TestMessagesMemory: what the values of a body take is paid before they are read, and given back.
func TestMessagesMemory(t *testing.T) {
	f, _, _ := browsing(t, func(o *Options) { o.Settings.Memory = 8 << 20 }, cited("done"))
	blocks := strings.Repeat(`{"type":"text","text":""},`, 16_000)
	status, m := f.messages(`"messages":[{"role":"user","content":[` + blocks[:len(blocks)-1] + `]}],` + searchTool)
	if status != 429 || m.Error.Type != "rate_limit_error" {
		t.Errorf("%d %+v", status, m)
	}
	if status, m = f.messages(asksQ + searchTool); status != 200 || f.s.memory.InUse() != 0 {
		t.Errorf("%d %+v, %d bytes are in use", status, m, f.s.memory.InUse())
	}
}
