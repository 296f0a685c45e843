package exchange

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const observedTools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",` +
	`"properties":{"a":{"type":"integer"}},"required":["a"]}}}]`

// observedChat is a Chat request that declares the function f.
const observedChat = `{"model":"` + testModel + `","stream":true,"messages":[{"role":"user","content":"Hi"}],` +
	observedTools + `}`

const observedResponses = `{"model":"` + testModel + `","input":"Hi","tools":[{"type":"function","name":"f",` +
	`"parameters":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}]}`

const observedMessages = `{"model":"` + testModel + `","max_tokens":100,"messages":[{"role":"user","content":"Hi"}],` +
	`"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}]}`

// chunks is a Chat stream of deltas, each of which is the rest of a delta's object.
func chunks(finish string, deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{` + d + "}}]}\n\n")
	}
	if finish != "" {
		b.WriteString(`data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]}` + "\n\n")
		b.WriteString(`data: {"id":"c","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}` + "\n\n")
		b.WriteString("data: [DONE]\n\n")
	}
	return b.String()
}

func content(text string) string { return `"content":` + strconv.Quote(text) }

// observed plays an exchange that is observed. Every byte of the answer must pass.
func observed(t *testing.T, g *Gateway, path, body string, head ResponseHead, pieces []string) Report {
	t.Helper()
	x := g.Begin("POST", path)
	a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
	if a.Forward == nil || x.PassesThrough() {
		t.Fatalf("%s is not observed: %+v", body, a)
	}
	if r := x.ResponseHeaders(head); !r.Pass {
		t.Fatalf("the headers: %+v", r)
	}
	for i, p := range pieces {
		chunk := []byte(p)
		r := x.ResponseBody(chunk, i == len(pieces)-1)
		if !r.Pass || r.Body != nil || r.Head != nil || r.Reset || r.Reply != nil {
			t.Fatalf("%q does not pass: %+v", p, r)
		}
		if string(chunk) != p {
			t.Fatalf("%q has become %q", p, chunk)
		}
	}
	return x.Report()
}

func (o Observed) String() string {
	var words []string
	for kind, n := range o {
		if n > 0 && ObservedKind(kind) != ObservedRequest {
			words = append(words, fmt.Sprintf("%s %d", ObservedKind(kind), n))
		}
	}
	return strings.Join(words, ", ")
}

// TestObserved checks what is counted of requests and answers, however an answer is cut.
func TestObserved(t *testing.T) {
	call := func(name, arguments string) string {
		return `"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"` + name + `","arguments":` +
			strconv.Quote(arguments) + `}}]`
	}
	more := func(arguments string) string {
		return `"tool_calls":[{"index":0,"function":{"arguments":` + strconv.Quote(arguments) + `}}]`
	}
	whole := ResponseHead{Status: 200, ContentType: "application/json"}
	events := func(all ...string) string {
		var b strings.Builder
		for _, e := range all {
			name, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
			b.WriteString("event: " + name + "\ndata: " + e + "\n\n")
		}
		return b.String()
	}
	for _, tt := range []struct {
		name, path, body string
		head             ResponseHead
		answer           string
		want             string
	}{
		{"a good answer", "chat", observedChat, eventStream,
			chunks("stop", `"role":"assistant"`, `"reasoning_content":"Hm."`, content("Hi"), content(" <there")), ""},
		{"a good call", "chat", observedChat, eventStream,
			chunks("tool_calls", `"reasoning":"Hm."`, call("f", `{"a"`), more(`:1}`)), ""},
		{"at the limit", "chat", observedChat, eventStream, chunks("length", `"reasoning":"Hm."`), ""},
		{"a cut call", "chat", observedChat, eventStream, chunks("length", call("f", `{"a"`)), ""},
		{"control tokens", "chat", observedChat, eventStream, chunks("stop", content("Hi<|ret"), content("urn|>")),
			"control_tokens 1"},
		{"control tokens in reasoning", "chat", observedChat, eventStream,
			chunks("stop", `"reasoning":"Hm.<|end"`, `"reasoning":"|>"`, content("Hi")), "control_tokens 1"},
		{"messages in the text", "chat", observedChat, eventStream,
			chunks("stop", content("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi")),
			"control_tokens 1, messages_in_text 1"},
		{"messages without control tokens", "chat", observedChat, eventStream,
			chunks("stop", content("analysis"), content("We greet.assistantfinalHi")), "messages_in_text 1"},
		{"a call in the text", "chat", observedChat, eventStream,
			chunks("stop", content("<|channel|>commentary to=functions.f <|constrain|>json<|message|>"),
				content(`{"a":1}<|call|>`)),
			"control_tokens 1, call_in_text 1"},
		{"another model's call in the text", "chat", observedChat, eventStream,
			chunks("stop", content("<tool_"), content(`call>{"name":"f"}</tool_call>`)), "call_in_text 1"},
		{"arguments that do not fit", "chat", observedChat, eventStream, chunks("tool_calls", call("f", `{"a":"x"}`)),
			"unfit_arguments 1"},
		{"arguments that are no JSON", "chat", observedChat, eventStream, chunks("tool_calls", call("f", `{"a"`)),
			"unfit_arguments 1"},
		{"another function", "chat", observedChat, eventStream, chunks("tool_calls", call("g", `{}`)), "undeclared_call 1"},
		{"no answer", "chat", observedChat, eventStream, chunks("stop", `"reasoning_content":"Hm."`), "no_answer 1"},
		{"an error in the stream", "chat", observedChat, eventStream,
			chunks("", content("Hi")) + `data: {"error":{"message":"no","code":500}}` + "\n\ndata: [DONE]\n\n", "error 1"},
		{"an error", "chat", observedChat, ResponseHead{Status: 500, ContentType: "application/json"},
			`{"error":{}}`, "error 1"},
		{"the proxy's reply", "chat", observedChat, ResponseHead{Status: 503, ContentType: "application/json", Local: true},
			`{"error":{}}`, "error 1"},
		{"no event stream", "chat", observedChat, eventStream, "data: {{{\n\ndata: more\n\n", "unreadable 1"},
		{"another form", "chat", observedChat, ResponseHead{Status: 200, ContentType: "text/html"}, "<html>", "unreadable 1"},
		{"no body", "chat", observedChat, ResponseHead{Status: 200, ContentType: "application/json", End: true}, "",
			"unreadable 1"},
		{"a refused request", "chat", strings.Replace(observedChat, "{", `{"n":1000,`, 1), eventStream,
			chunks("tool_calls", call("g", `{}`)), "refused 1"},
		{"two choices", "chat", strings.Replace(observedChat, "{", `{"n":2,`, 1), whole,
			`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"<|end|>"},` +
				`"finish_reason":"stop"},{"index":1,"message":{"role":"assistant","content":"<|end|>"},"finish_reason":"stop"}],` +
				`"usage":{"prompt_tokens":7,"completion_tokens":3}}`, "control_tokens 2"},
		{"a large answer", "chat", observedChat, whole,
			`{"choices":[{"index":0,"message":{"content":"` + strings.Repeat("<|end|>", maxObservedAnswer/7) + `"}}]}`,
			"unreadable 1"},
		{"very many messages", "chat", observedChat, eventStream,
			strings.Repeat(chunks("", content("<|channel|>analysis<|message|>x<|end|><|start|>assistant")), maxMessages+1),
			"unreadable 1, control_tokens 1, messages_in_text 1"},
		{"a response", "responses", observedResponses, whole, `{"object":"response","status":"completed","output":[` +
			`{"type":"reasoning","content":[{"type":"reasoning_text","text":"Hm."}]},{"type":"message","content":[` +
			`{"type":"output_text","text":"Hi"}]}],"usage":{"input_tokens":7,"output_tokens":3}}`, ""},
		{"a response with a call", "responses", observedResponses, whole, `{"status":"completed","output":[` +
			`{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},` +
			`{"type":"function_call","call_id":"2","name":"g","arguments":"{}"}]}`, "unfit_arguments 1, undeclared_call 1"},
		{"a response without answer", "responses", observedResponses, whole,
			`{"status":"completed","output":[{"type":"reasoning","content":[{"text":"<|end|>"}]}]}`,
			"control_tokens 1, no_answer 1"},
		{"an incomplete response", "responses", observedResponses, whole,
			`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`, ""},
		{"a failed response", "responses", observedResponses, whole,
			`{"status":"failed","error":{"code":"server_error","message":"no"},"output":[]}`, "error 1"},
		{"events", "responses", observedResponses, eventStream, events(
			`{"type":"response.created","response":{"status":"in_progress"}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning"}}`,
			`{"type":"response.reasoning_text.delta","output_index":0,"delta":"Hm."}`,
			`{"type":"response.output_text.delta","output_index":1,"delta":"Hi<|"}`,
			`{"type":"response.output_text.delta","output_index":1,"delta":"end|>"}`,
			`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"1","name":"f",`+
				`"arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"a\":"}`,
			`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"\"x\"}"}`,
			`{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{\"a\":\"x\"}"}`,
			`{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":7}}}`,
		), "control_tokens 1, unfit_arguments 1"},
		{"a failed stream", "responses", observedResponses, eventStream, events(
			`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"no"}}}`,
		), "error 1"},
		{"very many calls in events", "responses", observedResponses, eventStream,
			strings.Repeat(events(`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call",`+
				`"call_id":"1","name":"f","arguments":""}}`), maxMessages+1), "unreadable 1, unfit_arguments 1024"},
		{"a stored response", "responses",
			strings.Replace(observedResponses, "{", `{"previous_response_id":"resp_1",`, 1), whole,
			`{"status":"completed","output":[{"type":"function_call","name":"g","arguments":""}]}`, "routed 1"},
		{"a hosted tool", "responses", `{"model":"` + testModel + `","input":"Hi","tools":[{"type":"web_search"}]}`, whole,
			`{"status":"completed","output":[{"type":"message","content":[{"text":"Hi"}]}]}`, "refused 1"},
		{"a message", "messages", observedMessages, whole, `{"type":"message","content":[{"type":"thinking",` +
			`"thinking":"Hm.","signature":""},{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{` +
			`"input_tokens":7,"output_tokens":3}}`, ""},
		{"a message with calls", "messages", observedMessages, whole, `{"content":[{"type":"tool_use","id":"1","name":"f",` +
			`"input":{}},{"type":"tool_use","id":"2","name":"g","input":{"a":1}},{"type":"tool_use","id":"3","name":"f",` +
			`"input":{"a":1}}],"stop_reason":"tool_use"}`, "unfit_arguments 1, undeclared_call 1"},
		{"a message without answer", "messages", observedMessages, whole,
			`{"content":[{"type":"thinking","thinking":"<|end|>"}],"stop_reason":"end_turn"}`,
			"control_tokens 1, no_answer 1"},
		{"a message at the limit", "messages", observedMessages, whole, `{"content":[],"stop_reason":"max_tokens"}`, ""},
		{"no message", "messages", observedMessages, whole, `{"type":"error","error":{"type":"api_error"}}`, "unreadable 1"},
		{"events of a message", "messages", observedMessages, eventStream, events(
			`{"type":"message_start","message":{"content":[],"usage":{"input_tokens":7,"output_tokens":0}}}`,
			`{"type":"ping"}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"<|end|>"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi<|"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"end|>"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}}`,
			`{"type":"content_block_stop","index":2}`,
			`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"2","name":"g","input":{}}}`,
			`{"type":"content_block_stop","index":3}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`,
			`{"type":"message_stop"}`,
		), "control_tokens 1, unfit_arguments 1, undeclared_call 1"},
		{"a call without input", "messages", strings.Replace(observedMessages, `,"required":["a"]`, "", 1), eventStream,
			events(
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`,
			), ""},
		{"a failed stream of a message", "messages", observedMessages, eventStream, events(
			`{"type":"error","error":{"type":"overloaded_error","message":"no"}}`), "error 1"},
		{"a refused request to Messages", "messages", strings.Replace(observedMessages, `"max_tokens":100,`, "", 1), whole,
			`{"content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}`, "refused 1"},
		{"very many calls of a message", "messages", observedMessages, eventStream, strings.Repeat(events(
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}}`,
			`{"type":"content_block_stop","index":2}`), maxMessages+1), "unreadable 1, unfit_arguments 1024"},
	} {
		g := untranslating("observe", func(o *Options) {
			o.ResponsesService = contract.ResponsesService{Pool: "service", Stores: tt.name == "a stored response"}
			o.HostedTools = contract.HostedToolsRefuse
		})
		path := "/v1/" + map[string]string{"chat": "chat/completions", "responses": "responses",
			"messages": "messages"}[tt.path]
		sizes := []int{1, 7, 1 << 30}
		if len(tt.answer) > 10_000 {
			sizes = []int{64 << 10}
		}
		for _, size := range sizes {
			var pieces []string
			for rest := tt.answer; rest != ""; {
				n := min(size, len(rest))
				pieces, rest = append(pieces, rest[:n]), rest[n:]
			}
			r := observed(t, g, path, tt.body, tt.head, pieces)
			if got := r.Observed.String(); strings.TrimPrefix(got, "other_prompt 1") != tt.want &&
				strings.Replace(got, "other_prompt 1, ", "", 1) != tt.want || r.Observed[ObservedRequest] != 1 {
				t.Errorf("%s, in pieces of %d: %s, want %s", tt.name, size, got, tt.want)
			}
		}
	}
}

// TestObservedPrompt checks that the servers' count of the prompt is held against the gateway's own.
func TestObservedPrompt(t *testing.T) {
	g := untranslating("observe", nil)
	x := testGateway(nil).Begin("POST", "/v1/chat/completions")
	x.Request([]byte(observedChat), Host{Now: testNow, ID: testID})
	own := x.Report().PromptTokens
	if own == 0 {
		t.Fatal("no prompt")
	}
	for _, servers := range []int{own, own + 1} {
		answer := strings.Replace(chunks("stop", content("Hi")), `"prompt_tokens":7`,
			`"prompt_tokens":`+strconv.Itoa(servers), 1)
		r := observed(t, g, "/v1/chat/completions", observedChat, eventStream, []string{answer, ""})
		if r.ObservedPrompt != own || r.ServersPrompt != servers || r.Observed[ObservedOtherPrompt] != servers-own {
			t.Errorf("%d tokens and %d: %+v", own, servers, r)
		}
	}
	x = testGateway(nil).Begin("POST", contract.MessagesPath)
	x.Request([]byte(observedMessages), Host{Now: testNow, ID: testID})
	own = x.Report().PromptTokens
	for _, servers := range []int{own, own + 1} {
		answer := fmt.Sprintf(`{"content":[],"usage":{"input_tokens":%d,"cache_read_input_tokens":5,`+
			`"cache_creation_input_tokens":2,"output_tokens":1}}`, servers-7)
		r := observed(t, g, contract.MessagesPath, observedMessages,
			ResponseHead{Status: 200, ContentType: "application/json"}, []string{answer, ""})
		if r.ObservedPrompt != own || r.ServersPrompt != servers || r.Observed[ObservedOtherPrompt] != servers-own ||
			r.ServersTokens != servers+1 {
			t.Errorf("%d tokens and %d: %+v", own, servers, r)
		}
	}
	r := observed(t, g, "/v1/chat/completions", observedChat, eventStream, []string{chunks("", content("Hi"))})
	if r.ObservedPrompt != 0 || r.ServersPrompt != 0 {
		t.Errorf("an answer without a count: %+v", r)
	}
}

// TestObservedConversations checks that servers that take conversations can be observed too.
func TestObservedConversations(t *testing.T) {
	g := untranslating("observe", func(o *Options) {
		o.Models[0].Server, o.Models[0].Speaks = contract.Chat, contract.SpeaksAuto
		o.Models[0].Answers.MaxChoices = contract.MaxChoices
	})
	call := func(name, arguments string) string {
		return `"tool_calls":[{"index":0,"id":"1","function":{"name":"` + name + `","arguments":` + strconv.Quote(arguments) +
			`}}]`
	}
	for _, tt := range []struct{ request, delta, want string }{
		{observedChat, content("<|end|>"), "control_tokens 1"},
		{observedChat, call("f", `{"a":1}`), ""},
		{observedChat, call("f", `{"a":"x"}`), "unfit_arguments 1"},
		{observedChat, call("g", `{}`), "undeclared_call 1"},
		// A request that only the servers can read says nothing about the calls.
		{`{"model":"` + testModel + `","messages":[{"role":"narrator"}],"tools":[]}`, call("g", `{}`), ""},
	} {
		r := observed(t, g, "/v1/chat/completions", tt.request, eventStream, []string{chunks("stop", tt.delta)})
		if got := r.Observed.String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.delta, got, tt.want)
		}
	}
}

// FuzzObserved checks that an answer passes whatever it is, and that what is counted does not depend on how it is cut.
func FuzzObserved(f *testing.F) {
	f.Add([]byte(chunks("stop", content("Hi<|end|>"))), uint8(3), true, false)
	f.Add([]byte(`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`), uint8(1), false, false)
	f.Add([]byte(`data: {"type":"response.output_text.delta","delta":"<|end|>"}`+"\n\n"), uint8(2), true, true)
	f.Add([]byte(`{"status":"completed","output":[{"type":"function_call","name":"f","arguments":"{}"}]}`),
		uint8(9), false, true)
	f.Add([]byte(`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f"}}`+"\n\n"),
		uint8(2), true, true)
	g := untranslating("observe", nil)
	f.Fuzz(func(t *testing.T, answer []byte, size uint8, stream, responses bool) {
		if len(answer) > 1<<14 {
			return
		}
		head, path, body := ResponseHead{Status: 200, ContentType: "application/json"}, "/v1/chat/completions", observedChat
		if stream {
			head = eventStream
		}
		switch {
		case responses && size%2 == 0:
			path, body = contract.MessagesPath, observedMessages
		case responses:
			path, body = "/v1/responses", observedResponses
		}
		want := observed(t, g, path, body, head, []string{string(answer)}).Observed
		var pieces []string
		for rest := string(answer); rest != ""; {
			n := min(int(size)+1, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := observed(t, g, path, body, head, pieces).Observed; got != want {
			t.Fatalf("%q in pieces of %d: %s, want %s", answer, int(size)+1, got, want)
		}
	})
}
