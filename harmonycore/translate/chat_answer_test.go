package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// noReasoning holds the fields of a message or delta without reasoning.
const noReasoning = `"reasoning":null,"reasoning_content":null`

func TestChatStreamGolden(t *testing.T) {
	got := play(answerTo(t, ChatAPI, `"stream":true,"stream_options":{"include_usage":true},`), answerCases[1], never)
	head := `data: {"id":"chatcmpl-0123456789abcdef01234567","object":"chat.completion.chunk","created":1700000000,` +
		`"model":"m","choices":[`
	var want strings.Builder
	for _, delta := range []string{
		`"role":"assistant","content":null,` + noReasoning,
		`"reasoning":"t","reasoning_content":"t"`,
		`"content":"I look.",` + noReasoning,
		`"tool_calls":[{"index":0,"id":"call_0123456789abcdef01234567_0","type":"function","function":{"name":"f",` +
			`"arguments":""}}],` + noReasoning,
		`"tool_calls":[{"index":0,"function":{"arguments":"{\"a"}}],` + noReasoning,
		`"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}}],` + noReasoning,
	} {
		want.WriteString(head + `{"index":0,"delta":{` + delta + `},"logprobs":null,"finish_reason":null}],"usage":null}` +
			"\n\n")
	}
	want.WriteString(head + `{"index":0,"delta":{` + noReasoning + `},"logprobs":null,"finish_reason":"tool_calls"}],` +
		`"usage":null}` + "\n\n")
	want.WriteString(head + `],"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30,` +
		`"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}}` + "\n\n")
	want.WriteString("data: [DONE]\n\n")
	if got != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
}

func TestChatWholeGolden(t *testing.T) {
	tests := []struct {
		c            answerCase
		message, end string
	}{
		{answerCases[0], `{"role":"assistant","content":"Héllo 😀","refusal":null,"reasoning":"let me \"see\"\n",` +
			`"reasoning_content":"let me \"see\"\n","annotations":[]}`, "stop"},
		{answerCases[2], `{"role":"assistant","content":null,"refusal":null,` + noReasoning +
			`,"tool_calls":[{"id":"call_0123456789abcdef01234567_0","type":"function","function":{"name":"f",` +
			`"arguments":"{}"}},{"id":"call_0123456789abcdef01234567_1","type":"function","function":{"name":"f",` +
			`"arguments":""}}],"annotations":[]}`, "tool_calls"},
		{answerCases[3], `{"role":"assistant","content":"z","refusal":null,"reasoning":"xy","reasoning_content":"xy",` +
			`"annotations":[]}`, "stop"},
		{answerCases[4], `{"role":"assistant","content":"no answer","refusal":null,"reasoning":"odd",` +
			`"reasoning_content":"odd","annotations":[]}`, "stop"},
		{answerCases[5], `{"role":"assistant","content":null,"refusal":null,"reasoning":"t","reasoning_content":"t",` +
			`"tool_calls":[{"id":"call_0123456789abcdef01234567_0","type":"function","function":{"name":"f",` +
			`"arguments":"{\"a"}}],"annotations":[]}`, "length"},
		{answerCases[8], `{"role":"assistant","content":"","refusal":null,` + noReasoning + `,"annotations":[]}`, "stop"},
	}
	for _, tt := range tests {
		got := play(answerTo(t, ChatAPI, ""), tt.c, never)
		want := `{"id":"chatcmpl-0123456789abcdef01234567","object":"chat.completion","created":1700000000,"model":"m",` +
			`"choices":[{"index":0,"message":` + tt.message +
			`,"logprobs":null,"finish_reason":"` + tt.end + `"}],"usage":`
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.c.name, got, want)
		}
		decode(t, got)
	}
}

func TestChatStreamSaysWhatTheWholeSays(t *testing.T) {
	for _, c := range answerCases {
		checkChat(t, c)
	}
}

// checkChat adds up the chunks of a stream as a client does, and compares the sum with the whole answer of the same
// messages.
func checkChat(t *testing.T, c answerCase) {
	t.Helper()
	stream := play(answerTo(t, ChatAPI, `"stream":true,"stream_options":{"include_usage":true},`), c, never)
	whole := decode(t, play(answerTo(t, ChatAPI, ""), c, never))
	choice := whole["choices"].([]any)[0].(map[string]any)
	message := choice["message"].(map[string]any)

	events := strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n")
	if events[len(events)-1] != "data: [DONE]" {
		t.Fatalf("%s: no end in %s", c.name, stream)
	}
	texts := map[string]string{}
	var content any // nil until a chunk has content, as in openai-python and openai-node
	var calls []any
	var reason, usage any
	for i, event := range events[:len(events)-1] {
		chunk := decode(t, strings.TrimPrefix(event, "data: "))
		if chunk["id"] != whole["id"] || chunk["object"] != "chat.completion.chunk" {
			t.Fatalf("%s: chunk %s", c.name, event)
		}
		choices := chunk["choices"].([]any)
		if len(choices) == 0 {
			usage = chunk["usage"]
			continue
		}
		choice := choices[0].(map[string]any)
		delta := choice["delta"].(map[string]any)
		if (i == 0) != (delta["role"] == "assistant") || reason != nil {
			t.Fatalf("%s: chunk %d out of order: %s", c.name, i, event)
		}
		reason = choice["finish_reason"]
		if s, ok := delta["content"].(string); ok {
			before, _ := content.(string)
			content = before + s
		}
		for _, key := range []string{"reasoning", "reasoning_content"} {
			if s, ok := delta[key].(string); ok {
				texts[key] += s
			}
		}
		list, _ := delta["tool_calls"].([]any)
		for _, v := range list {
			call := v.(map[string]any)
			function := call["function"].(map[string]any)
			index := int(call["index"].(float64))
			if index == len(calls) {
				delete(call, "index")
				calls = append(calls, call)
				continue
			}
			first := calls[index].(map[string]any)["function"].(map[string]any)
			first["arguments"] = first["arguments"].(string) + function["arguments"].(string)
		}
	}
	reasoning, _ := message["reasoning"].(string)
	if content != message["content"] || texts["reasoning"] != reasoning || texts["reasoning_content"] != reasoning {
		t.Errorf("%s: streamed %v and %q, whole %v", c.name, content, texts, message)
	}
	if text, _ := content.(string); (content == nil) != (text == "" && len(calls) > 0) {
		t.Errorf("%s: content %v beside %d calls", c.name, message["content"], len(calls))
	}
	if wholeCalls, _ := message["tool_calls"].([]any); encode(t, wholeCalls) != encode(t, calls) {
		t.Errorf("%s: streamed %v, whole %v", c.name, calls, wholeCalls)
	}
	if reason != choice["finish_reason"] || encode(t, usage) != encode(t, whole["usage"]) {
		t.Errorf("%s: streamed %v %v, whole %v", c.name, reason, usage, whole)
	}
}

func TestChatStreamFails(t *testing.T) {
	a := answerTo(t, ChatAPI, `"stream":true,`)
	a.Begin()
	a.Ready().Take(nil)
	choice := a.Choices()[0]
	choice.Open(harmony.Header{Channel: harmony.Final})
	a.Fail(&openai.Error{Status: 502, Type: "server_error", Code: "server_error", Message: "gone"})
	choice.Content([]byte("late"), 1)
	choice.End(Stop)
	a.Finish(Usage{}, 0)
	want := `data: {"error":{"message":"gone","type":"server_error","param":null,"code":"server_error"}}` + "\n\n"
	if got := string(a.Ready().Take(nil)); got != want {
		t.Errorf("got %s", got)
	}
}

func TestUnknownCachedTokensAreNotCalledZero(t *testing.T) {
	a := answerTo(t, ChatAPI, "")
	a.Begin()
	choice := a.Choices()[0]
	choice.Open(harmony.Header{Channel: harmony.Analysis})
	choice.Content(nil, 9)
	choice.End(Stop)
	a.Finish(Usage{PromptTokens: 1, CompletionTokens: 2}, 0)
	got := string(a.Ready().Take(nil))
	if !strings.HasSuffix(got, `"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,`+
		`"completion_tokens_details":{"reasoning_tokens":2}}}`) {
		t.Errorf("got %s", got)
	}
}
