package exchange

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// conversing returns a gateway with one model behind servers that take conversations.
func conversing(change func(*contract.Model)) *Gateway {
	m := contract.DefaultModel("qwen")
	m.Pool, m.Server, m.ServerModel = "qwen", contract.Chat, "Qwen/Qwen3-30B-A3B"
	if change != nil {
		change(&m)
	}
	c := contract.DefaultConfig()
	c.Models = []contract.Model{m}
	return New(Options{Config: *c, Tokenizer: o200k.Tokenizer()})
}

// ask sends a request, and the server's answer in pieces of n bytes. It returns what the server got, and what the
// client got.
func ask(t *testing.T, g *Gateway, path, request, contentType, answer string, n int) (sent, got string, x *Exchange) {
	t.Helper()
	x = g.Begin("POST", path)
	x.RequestHeaders()
	action := x.Request([]byte(request), Host{Now: 1_700_000_000_000, ID: "0123456789abcdef01234567"})
	if action.Reply != nil {
		return "", string(action.Reply.Body), x
	}
	if action.Forward == nil || action.Forward.Path != contract.ChatPath {
		t.Fatalf("the request is not forwarded: %+v", action)
	}
	sent = string(action.Forward.Body)
	var out strings.Builder
	take := func(a ResponseAction, chunk string) {
		switch {
		case a.Reply != nil:
			out.Write(a.Reply.Body)
		case a.Pass:
			out.WriteString(chunk)
		default:
			out.Write(a.Body)
		}
	}
	take(x.ResponseHeaders(ResponseHead{Status: 200, ContentType: contentType}), "")
	for len(answer) > 0 {
		piece := answer[:min(n, len(answer))]
		answer = answer[len(piece):]
		take(x.ResponseBody([]byte(piece), answer == ""), piece)
	}
	return sent, out.String(), x
}

func chunk(delta string) string {
	return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"q","choices":[{"index":0,"delta":{` +
		delta + `},"finish_reason":null}]}` + "\n\n"
}

func finish(reason string) string {
	return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"q","choices":[{"index":0,"delta":{},` +
		`"finish_reason":"` + reason + `"}]}` + "\n\n" +
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"q","choices":[],"usage":{"prompt_tokens":7,` +
		`"completion_tokens":9,"total_tokens":16,"completion_tokens_details":{"reasoning_tokens":3}}}` +
		"\n\ndata: [DONE]\n\n"
}

func call(index, id, name, arguments string) string {
	return chunk(`"tool_calls":[{"index":` + index + `,"id":` + id + `,"type":"function","function":{"name":` + name +
		`,"arguments":"` + arguments + `"}}]`)
}

const askForTools = `{"model":"qwen","input":"hi","tools":[{"type":"function","name":"f","parameters":{"type":"object"}},` +
	`{"type":"custom","name":"patch"}]}`

// TestConversation has answers of servers that take conversations, and the items that a client gets of them, in each
// size of pieces that matters.
func TestConversation(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"text", chunk(`"role":"assistant","content":""`) + chunk(`"content":"Hel"`) + chunk(`"content":"lo"`) +
			finish("stop"),
			"message(Hello)"},
		{"reasoning", chunk(`"reasoning_content":"Think"`) + chunk(`"content":"Hi"`) + finish("stop"),
			"reasoning(Think) message(Hi)"},
		{"think tags", chunk(`"content":"<thi"`) + chunk(`"content":"nk>Hm</think>Hi"`) + finish("stop"),
			"reasoning(Hm) message(Hi)"},
		{"calls", chunk(`"content":"I look."`) + call("0", `"a1"`, `"f"`, `{\"x\"`) + call("0", "null", "null", `:1}`) +
			call("1", `"a2"`, `"f"`, `{}`) + finish("tool_calls"),
			`message(I look.) function_call(a1 f {"x":1}) function_call(a2 f {})`},
		{"one index", call("0", `"a1"`, `"f"`, `{}`) + call("0", `"a2"`, `"f"`, `{}`) + finish("tool_calls"),
			`function_call(a1 f {}) function_call(a2 f {})`},
		{"repeated ids", call("0", `"a1"`, `"f"`, `{`) + call("0", `"a1"`, `"f"`, `}`) + finish("tool_calls"),
			`function_call(a1 f {})`},
		{"one id", call("0", `"a"`, `"f"`, `{}`) + call("1", `"a"`, `"f"`, `{}`) + finish("tool_calls"),
			`function_call(a f {})`},
		{"one id, other arguments", call("0", `"a"`, `"f"`, `{}`) + call("1", `"a"`, `"f"`, `{\"x\":1}`) +
			finish("tool_calls"), `function_call(a f {}) function_call(call_0123456789abcdef01234567_1 f {"x":1})`},
		{"no id", call("0", `""`, `"f"`, `{}`) + finish("tool_calls"),
			`function_call(call_0123456789abcdef01234567_0 f {})`},
		{"custom", call("0", `"a"`, `"patch"`, `{\"input\":\"*** `) + call("0", `"a"`, `""`, `Begin\"}`) +
			finish("tool_calls"),
			`custom_tool_call(a patch *** Begin)`},
		{"bare input", call("0", `"a"`, `"patch"`, `*** Begin`) + finish("tool_calls"),
			`custom_tool_call(a patch *** Begin)`},
		{"thinking between calls", chunk(`"reasoning":"A"`) + call("0", `"a"`, `"f"`, `{}`) + chunk(`"reasoning":"B"`) +
			call("1", `"b"`, `"f"`, `{}`) + finish("tool_calls"),
			`reasoning(A) function_call(a f {}) reasoning(B) function_call(b f {})`},
		{"text after the end", chunk(`"content":"Hel"`) + strings.Replace(chunk(`"content":"l"`), "null", `"stop"`, 1) +
			chunk(`"content":"o"`) + finish("stop"), "message(Hello)"},
		{"an end in each chunk", strings.ReplaceAll(chunk(`"reasoning":"Hm"`)+chunk(`"content":"He"`)+
			chunk(`"content":"llo"`), "null", `"stop"`) + "data: [DONE]\n\n", "reasoning(Hm) message(Hello)"},
		{"an end in each chunk, and no mark", strings.ReplaceAll(chunk(`"content":"He"`)+chunk(`"content":"llo"`), "null",
			`"stop"`), "message(Hello)"},
		{"a mark without an end", chunk(`"content":"Hi"`) + "data: [DONE]\n\n", "message(Hi)"},
		{"blanks before a call", chunk(`"content":"<think>Hm</think>\n"`) + chunk(`"content":"\n"`) +
			call("0", `"a"`, `"f"`, `{}`) + finish("tool_calls"), `reasoning(Hm) function_call(a f {})`},
		{"blanks before text", chunk(`"reasoning":"Hm"`) + chunk(`"content":"\n"`) + chunk(`"content":"\nHi"`) +
			finish("stop"),
			"reasoning(Hm) message(\n\nHi)"},
		{"blanks alone", chunk(`"content":"\n"`) + finish("stop"), "message(\n)"},
		{"undeclared", call("0", `"a"`, `"g"`, `{}`) + finish("tool_calls"), `reasoning({})`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= len(tt.answer); n += 1 + n/16 {
				_, got, _ := ask(t, conversing(nil), contract.ResponsesPath, askForTools, "text/event-stream", tt.answer, n)
				if items := itemsOf(t, got); items != tt.want {
					t.Fatalf("in pieces of %d: %s, want %s\n%s", n, items, tt.want, got)
				}
			}
		})
	}
}

// TestConversationBreaksOff: a stream without an end is no whole answer, nor is one with nothing but the mark.
func TestConversationBreaksOff(t *testing.T) {
	for _, answer := range []string{
		chunk(`"content":"Hi"`), "data: [DONE]\n\n", chunk(`"role":"assistant","content":""`) + "data: [DONE]\n\n",
		strings.Replace(chunk(`"content":"Hi"`), "null", `"abort"`, 1) + "data: [DONE]\n\n",
	} {
		_, got, _ := ask(t, conversing(nil), contract.ResponsesPath, askForTools, "text/event-stream", answer, 1000)
		if !strings.HasPrefix(got, `{"error":{`) {
			t.Errorf("%s: got %s", answer, got)
		}
	}
}

// TestConversationIDs has servers that send the ids of tokens, or some of them. Clients that ask for no logprobs get
// none, and no client gets a part of the ids.
func TestConversationIDs(t *testing.T) {
	const (
		prompt = `data: {"prompt_token_ids":[1,2],"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"
		text   = `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"token_ids":[3,4],"logprobs":{"content":[` +
			`{"token":"H","logprob":-0.5,"bytes":[72]},{"token":"i","logprob":-1e-7,"bytes":[105]}]}}]}` + "\n\n"
		named = `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":{"content":[` +
			`{"token":"token_id:3","logprob":-0.5,"bytes":null}]}}]}` + "\n\n"
		less = `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"token_ids":[3,4],"logprobs":{"content":[` +
			`{"token":"H","logprob":-0.5,"bytes":[72]}]}}]}` + "\n\n"
	)
	ids := func(m *contract.Model) { m.Answers.TokenIDs = true }
	for _, tt := range []struct {
		name, answer string
		change       func(*contract.Model)
		// want is in the answer, and not is not.
		want, not string
	}{
		{"all", prompt + text, ids, `"generation_token_ids":[3,4],"generation_log_probs":[-0.5,-1e-7]`, `"bytes"`},
		{"unasked logprobs", text, nil, `"text":"Hi"`, `"bytes"`},
		{"no prompt", text, ids, "return_token_ids", `"Hi"`},
		{"ids in the logprobs, and no prompt", named, ids, "return_token_ids", `"Hi"`},
		{"fewer logprobs than ids", prompt + less, ids, "return_token_ids", `"Hi"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, got, _ := ask(t, conversing(tt.change), contract.ResponsesPath, `{"model":"qwen","input":"hi"}`,
				"text/event-stream", tt.answer+finish("stop"), len(text))
			if !strings.Contains(got, tt.want) || strings.Contains(got, tt.not) {
				t.Errorf("got %s, want %s and no %s", got, tt.want, tt.not)
			}
		})
	}
}

// Long reasoning and text in one event keep all their characters, however they lie in the pieces that are passed on.
func TestConversationCharacters(t *testing.T) {
	for before := range 5 {
		text := strings.Repeat("x", maxPiece-before) + strings.Repeat("é😀漢", 200)
		for _, member := range []string{"reasoning_content", "content"} {
			for _, stream := range []string{"true", "false"} {
				request := `{"model":"qwen","input":"hi","stream":` + stream + `}`
				_, got, _ := ask(t, conversing(nil), contract.ResponsesPath, request, "text/event-stream",
					chunk(`"`+member+`":"`+text+`"`)+chunk(`"content":"."`)+finish("stop"), 1<<20)
				if !utf8.ValidString(got) || strings.Contains(got, "\uFFFD") || !strings.Contains(got, text) {
					t.Errorf("%s after %d bytes, stream %s: %s", member, maxPiece-before, stream, got)
				}
			}
		}
	}
}

// TestUndeclaredCalls: with undeclared_calls: call the client gets calls of functions that it has not declared.
func TestUndeclaredCalls(t *testing.T) {
	calls := func(m *contract.Model) { m.Answers.UndeclaredCalls = contract.CallsAsCalls }
	for name, want := range map[string]string{
		"g":                     `function_call(a g {})`,
		"G-1_x":                 `function_call(a G-1_x {})`,
		strings.Repeat("g", 64): `function_call(a ` + strings.Repeat("g", 64) + ` {})`,
		strings.Repeat("g", 65): `reasoning({})`,
		"no function":           `reasoning({})`,
		"browser.search":        `reasoning({})`,
		`\u0000`:                `reasoning({})`,
		`<|call|>`:              `reasoning({})`,
	} {
		answer := call("0", `"a"`, `"`+name+`"`, `{}`) + finish("tool_calls")
		_, got, _ := ask(t, conversing(calls), contract.ResponsesPath, askForTools, "text/event-stream", answer, len(answer))
		if items := itemsOf(t, got); items != want {
			t.Errorf("%s: %s, want %s", name, items, want)
		}
	}
	harmony := testGateway(func(o *Options) { calls(&o.Models[0]) })
	for path, body := range map[string]string{
		contract.ResponsesPath: `"input":"Hi"}`, contract.ChatPath: `"messages":[{"role":"user","content":"Hi"}]}`,
	} {
		for recipient, called := range map[string]bool{"functions.g": true, "browser.search": false, "g": false} {
			x := forwarded(t, harmony, path, `{"model":"`+testModel+`",`+body)
			got := outcome(t, x, []string{answerOf("<|channel|>commentary to=" + recipient + "<|message|>{}<|call|>"), ""})
			if strings.Contains(got, `"arguments":"{}"`) != called {
				t.Errorf("%s, %s: %s", path, recipient, got)
			}
		}
	}
}

// itemsOf returns the items of a whole response, each as TYPE(text).
func itemsOf(t *testing.T, response string) string {
	t.Helper()
	var r struct {
		Output []struct {
			Type, Name, Arguments, Input string
			CallID                       string `json:"call_id"`
			Content                      []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(response), &r); err != nil {
		t.Fatalf("%v: %s", err, response)
	}
	var items []string
	for i := range r.Output {
		item := &r.Output[i]
		text := ""
		for j := range item.Content {
			text += item.Content[j].Text
		}
		if item.CallID != "" {
			text = fmt.Sprintf("%s %s %s%s", item.CallID, item.Name, item.Arguments, item.Input)
		}
		items = append(items, item.Type+"("+text+")")
	}
	return strings.Join(items, " ")
}

// Calls that cannot be put together end the answer with an error.
func TestBrokenCalls(t *testing.T) {
	for name, answer := range map[string]string{
		"after its end": call("0", `"a"`, `"f"`, `{`) + call("0", "null", "null", `}`) + chunk(`"content":"x"`) +
			call("0", "null", "null", `}`),
		"no name":     call("0", `"a"`, `""`, `{}`),
		"a long name": call("0", `"a"`, `"`+strings.Repeat("f", maxFunctionName+1)+`"`, `{}`),
		"too much": call("0", `"a"`, `"f"`, `{`) +
			strings.Repeat(chunk(`"content":"`+strings.Repeat("x", 1<<20)+`"`), 9),
	} {
		t.Run(name, func(t *testing.T) {
			_, got, x := ask(t, conversing(nil), contract.ResponsesPath, askForTools, "text/event-stream",
				answer+finish("tool_calls"), 1<<20)
			if !strings.Contains(got, `"error":{`) || x.Report().Finish != FinishError {
				t.Errorf("the client gets %s", got)
			}
		})
	}
}

// A Chat request goes on with little changed, and its answer passes as it is. The report has what it held.
func TestPassedChat(t *testing.T) {
	g := conversing(func(m *contract.Model) {
		m.ExtraBody, m.Chat.TemplateKwargs = `{"min_p":0.1,"temperature":0.6}`, `{"enable_thinking":false}`
	})
	request := `{"model":"qwen","stream":true,"temperature":1,"messages":[{"role":"developer","content":"Be brief."},` +
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://h/x.png"}}]}]}`
	answer := chunk(`"reasoning_content":"Hm"`) + call("0", `"a1"`, `"f"`, `{}`) + finish("tool_calls")
	for n := 1; n <= len(answer); n += 1 + n/4 {
		sent, got, x := ask(t, g, contract.ChatPath, request, "text/event-stream", answer, n)
		if got != strings.ReplaceAll(answer, `"model":"q"`, `"model":"qwen"`) {
			t.Fatalf("the answer is %s", got)
		}
		for _, part := range []string{`"model":"Qwen/Qwen3-30B-A3B"`, `"role":"system","content":"Be brief."`, `"min_p":0.1`,
			`"temperature":1`, `"chat_template_kwargs":{"enable_thinking":false}`, `"image_url":{"url":"https://h/x.png"}`} {
			if !strings.Contains(sent, part) {
				t.Errorf("the server gets %s, without %s", sent, part)
			}
		}
		r := x.Report()
		if r.Finish != FinishToolCalls || r.Calls != 1 || r.PromptTokens != 7 || r.CompletionTokens != 9 || r.Reasoning != 3 {
			t.Errorf("the report is %+v", r)
		}
	}
}

// An answer that ends with its only call names the length of the prompt, which a server tells at its end.
func TestEarlyCallUsage(t *testing.T) {
	first := call("0", `"a"`, `"f"`, `{}`)
	second := call("1", `"b"`, `"f"`, `{\"x\":`) + call("1", "null", "null", "1}")
	endless := call("1", `"b"`, `"f"`, "{") + strings.Repeat(call("1", "null", "null", "x"), 5000)
	for name, tt := range map[string]struct {
		answer string
		prompt int
	}{
		"another call":    {first + second + finish("tool_calls"), 7},
		"an endless call": {first + endless + finish("tool_calls"), 0},
		"an error":        {first + second + `data: {"error":{"message":"no"}}` + "\n\n", 0},
		"garbage":         {first + second + "data: {\n\n", 0},
		"no usage":        {first + second + "data: [DONE]\n\n", 0},
		"an end":          {first + second, 0},
	} {
		for _, stream := range []bool{false, true} {
			body := fmt.Sprintf(`{"model":"qwen","parallel_tool_calls":false,"stream":%v,%s`, stream,
				strings.TrimPrefix(askForTools, `{"model":"qwen",`))
			g := conversing(nil)
			want := outcome(t, forwarded(t, g, contract.ResponsesPath, body), []string{tt.answer, ""})
			if strings.Contains(want, `"error":{`) || !strings.Contains(want, `"call_id":"a"`) ||
				strings.Contains(want, `"call_id":"b"`) || !strings.Contains(want, fmt.Sprintf(`"input_tokens":%d,`, tt.prompt)) {
				t.Errorf("%s, stream %v: %s", name, stream, want)
			}
			got := outcome(t, forwarded(t, g, contract.ResponsesPath, body), append(strings.SplitAfter(tt.answer, "0"), ""))
			if got != want {
				t.Errorf("%s, stream %v: in pieces %s, want %s", name, stream, got, want)
			}
			x := forwarded(t, g, contract.ResponsesPath, body)
			x.ResponseHeaders(eventStream)
			x.ResponseBody([]byte(first+second), false)
			x.Overdue(testNow) // notes that the server has sent something
			a := x.Stalled(testNow + 3*int64(g.options.StallTimeoutMS))
			if (a.Reply == nil || a.Reply.Status != 200) && !strings.Contains(string(a.Body), "response.completed") {
				t.Errorf("stream %v: silence ends an answer with %+v", stream, a)
			}
		}
	}
}

// Calls of custom tools, at servers that have such tools, are no failure of the server.
func TestPassedCustomCall(t *testing.T) {
	answer := chunk(`"tool_calls":[{"index":0,"id":"a","type":"custom","custom":{"name":"patch","input":""}}]`) +
		chunk(`"tool_calls":[{"index":0,"custom":{"input":"*** Begin"}}]`) + finish("tool_calls")
	for name, change := range map[string]func(*contract.Model){
		"passed": nil, "remade": func(m *contract.Model) { m.Answers.MaxChoices = 1 },
	} {
		_, got, x := ask(t, conversing(change), contract.ChatPath, `{"model":"qwen","stream":true,"messages":[{"role":`+
			`"user","content":"x"}],"tools":[{"type":"custom","custom":{"name":"patch"}}]}`, "text/event-stream", answer, 1000)
		if r := x.Report(); r.Finish != FinishToolCalls || r.Calls != 1 || !strings.Contains(got, `"input":"*** Begin"`) {
			t.Errorf("%s: the report is %+v, the answer %s", name, r, got)
		}
	}
}

// A server that makes an answer in one piece may be silent for long, and one that streams may not.
func TestPassedChatSilence(t *testing.T) {
	g := conversing(nil)
	for stream, cut := range map[string]bool{"true": true, "false": false, "null": false, `"true"`: false} {
		x := g.Begin("POST", contract.ChatPath)
		x.RequestHeaders()
		x.Request([]byte(`{"model":"qwen","messages":[],"stream":`+stream+`}`), Host{Now: testNow, ID: testID})
		a := x.Stalled(testNow + int64(g.options.StallTimeoutMS))
		if replied := a.Reply != nil && a.Reply.Status == 504; replied != cut {
			t.Errorf("with stream %s: %+v", stream, a)
		}
	}
}

// The answer to a Chat request is made anew where the server's own cannot be shown.
func TestRemadeChat(t *testing.T) {
	g := conversing(func(m *contract.Model) { m.Speaks = contract.SpeaksHarmony })
	answer := chunk(`"content":"<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|chan"`) +
		chunk(`"content":"nel|>final<|message|>Hi<|return|>"`) + finish("stop")
	sent, got, _ := ask(t, g, contract.ChatPath, `{"model":"qwen","messages":[{"role":"user","content":"hi"}]}`,
		"text/event-stream", answer, 7)
	if !strings.Contains(sent, `"stream":true`) || !strings.Contains(got, `"content":"Hi"`) ||
		!strings.Contains(got, `"reasoning":"Hm"`) || strings.Contains(got, "<|") {
		t.Errorf("the server gets %s, the client %s", sent, got)
	}
}

// TestReasoningSummary: with answers.reasoning_summary: always the reasoning is its summary, also where the client asks
// for none.
func TestReasoningSummary(t *testing.T) {
	answer := chunk(`"reasoning_content":"Hm"`) + chunk(`"content":"Hi"`) + finish("stop")
	const summary = `"type":"reasoning","status":"completed","summary":[{"type":"summary_text","text":"Hm"}]`
	for _, always := range []bool{false, true} {
		g := conversing(func(m *contract.Model) {
			if always {
				m.Answers.ReasoningSummary = contract.SummaryAlways
			}
		})
		for _, request := range []string{askForTools, strings.Replace(askForTools, "{", `{"stream":true,`, 1)} {
			for n := 1; n <= len(answer); n += 1 + n/4 {
				_, got, _ := ask(t, g, contract.ResponsesPath, request, "text/event-stream", answer, n)
				if strings.Contains(got, summary) != always || strings.Contains(got, "reasoning_text") == always {
					t.Fatalf("always: %t: %s", always, got)
				}
			}
		}
	}
}
