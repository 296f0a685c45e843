package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// refusedAs returns the status and the body of a refusal, or fails.
func refusedAs(t *testing.T, g *Gateway, path, body string, headers ...string) string {
	t.Helper()
	x := g.Begin("POST", path)
	for _, name := range headers {
		x.Header(name, "1")
	}
	a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
	if a.Reply == nil || a.Reply.Status != 400 {
		t.Fatalf("%s: not refused: %+v", body, a)
	}
	return string(a.Reply.Body)
}

// TestTextRefusals: what text cannot give is refused before a server is asked, and the error names the kind.
func TestTextRefusals(t *testing.T) {
	const chat, responses = "/v1/chat/completions", "/v1/responses"
	extras := func(m *contract.Model) { m.ServerExtras = []string{"stop_token_ids"} }
	strict := func(m *contract.Model) { m.Answers.Strict = true }
	tagged := func(m *contract.Model) { m.StructuredOutputs = contract.StructuralTags }
	for _, tt := range []struct {
		name, path, body, header string
		change                   func(*contract.Model)
		param, code              string
	}{
		{"strict by header", chat, chatBody(true), contract.StrictHeader, nil, contract.StrictHeader,
			"unsupported_parameter"},
		{"strict by setting", chat, chatBody(true), "", strict, "model", "unsupported_parameter"},
		{"logprobs", chat, chatWith(false, `"logprobs":true`), "", nil, "logprobs", "unsupported_parameter"},
		{
			"logprobs in Responses", responses,
			`{"model":"gpt-oss-120b","input":"Hi","include":["message.output_text.logprobs"]}`, "", nil, "include",
			"unsupported_parameter",
		},
		{
			"stop tokens", chat, chatWith(false, `"stop_token_ids":[7]`), "", extras, "stop_token_ids",
			"unsupported_parameter",
		},
		{
			"a form", chat, chatWith(false, `"tools":[{"type":"function","function":{"name":"f"}},`+
				`{"type":"function","function":{"name":"g"}}],"tool_choice":"required"`), "", tagged, "tool_choice",
			"tool_choice_not_supported",
		},
	} {
		var headers []string
		if tt.header != "" {
			headers = append(headers, tt.header)
		}
		got := refusedAs(t, textGateway(tt.change), tt.path, tt.body, headers...)
		if !strings.Contains(got, `"param":"`+tt.param+`"`) || !strings.Contains(got, `"code":"`+tt.code+`"`) ||
			!strings.Contains(got, "servers (text)") {
			t.Errorf("%s: got %s", tt.name, got)
		}
	}
}

// TestTextIsBounded: a server that never ends is stopped at as many bytes as the tokens could have that it was asked
// for.
func TestTextIsBounded(t *testing.T) {
	body := chatWith(true, `"max_tokens":100`)
	longest := strings.Repeat(" ", maxTokenBytes)
	for _, tt := range []struct {
		tokens int
		within bool
	}{{100 + maxOvershoot, true}, {101 + maxOvershoot, false}} {
		stream := strings.Repeat(textChunk(0, longest, ""), tt.tokens) + textChunk(0, "", "length") + serverDone
		got := outcome(t, forwarded(t, textGateway(nil), "/v1/chat/completions", body), []string{stream, ""})
		if strings.Contains(got, `"finish_reason":"length"`) != tt.within ||
			strings.Contains(got, "could not be understood") == tt.within {
			t.Errorf("%d tokens: got … %s", tt.tokens, tail(got))
		}
	}
	size := 0
	for id := range uint32(tokenizer.LastSpecial) {
		text, _ := o200k.Tokenizer().TokenBytes(id)
		size = max(size, len(text))
	}
	if size != maxTokenBytes {
		t.Errorf("the longest token has %d bytes", size)
	}
}

// TestTextEndsEarly: a stop sequence ends an answer in text, and what the server sends after it is counted by estimate.
func TestTextEndsEarly(t *testing.T) {
	stream := textChunk(0, "<|channel|>final<|message|>One two", "") + textChunk(0, " three four", "") +
		textChunk(0, " five six", "stop") + serverUsage + serverDone
	x := forwarded(t, textGateway(nil), "/v1/chat/completions", chatWith(false, `"stop":"three"`))
	got := outcome(t, x, []string{stream, ""})
	if !strings.Contains(got, `"content":"One two "`) || !strings.Contains(got, `"finish_reason":"stop"`) {
		t.Errorf("got %s", got)
	}
	if r := x.Report(); r.EarlyEnd != EarlyStop || r.WastedTokens != 3 || r.CompletionTokens != 8 {
		t.Errorf("got %+v", r)
	}
}

// TestTextCounts: the server's count is used where there is one, and never has fewer tokens than the reasoning.
// Otherwise a control token is one, and so are four bytes of other text.
func TestTextCounts(t *testing.T) {
	const think = "<|channel|>analysis<|message|>abcdefghijklmnopqrst<|end|>"
	const answer = "<|start|>assistant<|channel|>final<|message|>Hello"
	events := textChunk(0, think, "") + textChunk(0, answer, "stop")
	usage := "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n"
	for _, tt := range []struct{ name, stream, want string }{
		{"counted", events + usage + serverDone, `"completion_tokens":3,`},
		{"estimated", events + serverDone, `"completion_tokens":18,`},
	} {
		x := forwarded(t, textGateway(nil), "/v1/chat/completions", chatBody(false))
		got := outcome(t, x, []string{tt.stream, ""})
		reasoning := `"reasoning_tokens":5`
		if tt.name == "counted" {
			reasoning = `"reasoning_tokens":3`
		}
		if !strings.Contains(got, tt.want) || !strings.Contains(got, reasoning) {
			t.Errorf("%s: got %s", tt.name, got)
		}
	}
}

// TestTextChoices: the choices of a text answer interleave as in an answer of ids.
func TestTextChoices(t *testing.T) {
	stream := textChunk(1, "<|channel|>final<|message|>B", "") + textChunk(0, "analysisthink", "") +
		textChunk(1, "2", "length") + textChunk(0, "assistantfinalA", "stop") + serverUsage + serverDone
	got := outcome(t, forwarded(t, textGateway(nil), "/v1/chat/completions", chatWith(false, `"n":2`)),
		[]string{stream, ""})
	for _, want := range []string{`"content":"A"`, `"content":"B2"`, `"reasoning":"think"`, `"finish_reason":"length"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

// TestTextFallsBack: text without any header is the answer, and the operator's limits decide when text that looks like
// a header is.
func TestTextFallsBack(t *testing.T) {
	atOnce := func(m *contract.Model) { m.FallbackOnTimeoutMS, m.MinTokensBeforeFallback = 0, 1 }
	marked := func(m *contract.Model) { m.Marker = "##" }
	for _, tt := range []struct {
		name, text string
		change     func(*contract.Model)
		want       string
	}{
		{"no header", "Hello there", nil, `"content":"Hello there"`},
		{"like a header", "user to=you, my friend", atOnce, `"content":"user to=you, my friend"`},
		{"a marker", "Hello ## there", marked, `"content":" there"`},
		{"no marker", "Hello there", func(m *contract.Model) { atOnce(m); marked(m) }, `"content":"Hello there"`},
	} {
		x := forwarded(t, textGateway(tt.change), "/v1/chat/completions", chatBody(false))
		got := outcome(t, x, []string{textChunk(0, tt.text[:5], "") + textChunk(0, tt.text[5:], "stop") + serverDone, ""})
		if !strings.Contains(got, tt.want) || x.Report().Fallbacks != 1 {
			t.Errorf("%s: %d fallbacks, got %s", tt.name, x.Report().Fallbacks, got)
		}
	}
}

// TestTextCallIsPrefilled: servers without structural tags are held to one function by the prompt. Its header is not
// sent again.
func TestTextCallIsPrefilled(t *testing.T) {
	body := chatWith(false, `"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function",`+
		`"function":{"name":"f"}}`)
	got := outcome(t, forwarded(t, textGateway(nil), "/v1/chat/completions", body),
		[]string{textChunk(0, `{"a":`, "") + textChunk(0, `1}`, "stop") + serverDone, ""})
	if !strings.Contains(got, `"name":"f","arguments":"{\"a\":1}"`) || !strings.Contains(got, `"tool_calls"`) {
		t.Errorf("got %s", got)
	}
}
