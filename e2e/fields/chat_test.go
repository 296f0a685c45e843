//go:build e2e

package fields

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

var chatAPI = &fieldAPI{
	path: lab.ChatPath, schema: "CreateChatCompletionRequest", table: lab.File("docs/chat-fields.md"),
	turns: "messages", surround: surroundChat,
	examples: map[string]any{
		"model": lab.Model, "reasoning_effort": "low", "frequency_penalty": 0.5, "presence_penalty": 0.5, "temperature": 0.5,
		"top_p":      0.5,
		"logit_bias": map[string]any{"1": 1},
	},
	refusedWords: map[string]bool{"reasoning_effort: none": true},
	tolerated:    toleratedInChat,
	handMade:     handMadeChat,
}

var toleratedInChat = map[string]string{
	"logit_bias.*: a number":               "servers take fractions",
	"stop: empty":                          "it asks for nothing",
	"prediction(content).content: empty":   saysNothing,
	"messages[](assistant).content: empty": saysNothing,
	"messages[](developer).content: empty": saysNothing,
	"messages[](system).content: empty":    saysNothing,
	"messages[](tool).content: empty":      saysNothing,
	"messages[](user).content: empty":      saysNothing,
}

const saysNothing = "histories have such content, and it says nothing"

var handMadeChat = []handMade{
	{"model twice", "model", `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}],"model":"other"}`},
	{"messages twice", "messages", `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}],"messages":[]}`},
	{"no messages at all", "messages", `{"model":"gpt-oss-120b","messages":[]}`},
	{"half a character", "messages",
		"{\"model\":\"gpt-oss-120b\",\"messages\":[{\"role\":\"user\",\"content\":\"\xf0\x9f\"}]}"},
	{"half a surrogate pair", "user", withField(`"user":"\ud83d"`)},
	{"a result of no call", "messages[1].tool_call_id",
		withMessage(`{"role":"tool","tool_call_id":"nobody","content":"r"}`)},
	{"a call without a name", "messages[1].tool_calls[0].function.name", withMessage(`{"role":"assistant",` +
		`"tool_calls":[{"id":"c","type":"function","function":{"name":"","arguments":"{}"}}]}`)},
	{"a call with a header in its name", "messages[1].tool_calls[0].function.name",
		withMessage(`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f ` +
			`<|constrain|>json","arguments":"{}"}}]}`)},
	{"a user with a header for a name", "messages[1].name",
		withMessage(`{"role":"user","name":"a<|message|>","content":"x"}`)},
	{"a number among the parts", "messages[1].content[1]",
		withMessage(`{"role":"user","content":[{"type":"text","text":"a"},7]}`)},
	{"a part of another API", "messages[1].content[0]",
		withMessage(`{"role":"user","content":[{"type":"input_text","text":"a"}]}`)},
	{"an image for an assistant", "messages[1].content[0]",
		withMessage(`{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}`)},
	{"a function's name with a space", "tools[0].function.name",
		withField(`"tools":[{"type":"function","function":{"name":"a b"}}]`)},
	{"a function's name that is too long", "tools[0].function.name",
		withField(`"tools":[{"type":"function","function":{"name":"` + strings.Repeat("f", 129) + `"}}]`)},
	{"a deep schema", "tools[0].function.parameters",
		withField(`"tools":[{"type":"function","function":{"name":"f","parameters":` + nest(33) + `}}]`)},
	{"a default that is no number for anybody", "tools", withField(`"tools":[{"type":"function","function":{"name":"f",` +
		`"parameters":{"type":"object","properties":{"a":{"type":"number","default":1e999}}}}}]`)},
	{"a custom tool that is named as a function", "tool_choice", withField(`"tool_choice":{"type":"function",` +
		`"function":{"name":"k"}},"tools":[{"type":"custom","custom":{"name":"k"}}]`)},
	{"a deep form of the answer", "response_format.json_schema.schema",
		withField(`"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":` + nest(33) + `}}`)},
	{"a choice that is no tool", "tool_choice", withField(`"tool_choice":{"type":"function","function":{"name":"g"}},` +
		`"tools":[{"type":"function","function":{"name":"f"}}]`)},
	{"a choice without tools", "tool_choice", withField(`"tool_choice":"required"`)},
	{"a token that is no number", "logit_bias", withField(`"logit_bias":{"x":1}`)},
	{"a token that there is not", "logit_bias", withField(`"logit_bias":{"999999":1}`)},
	{"a bias that is too large", "logit_bias.1", withField(`"logit_bias":{"1":101}`)},
	{"seventeen pairs", "metadata", withField(`"metadata":{` + manyMembers(17) + `}`)},
	{"options without a stream", "stream_options", withField(`"stream_options":{"include_usage":true}`)},
	{"a very small temperature", "temperature", withField(`"temperature":-1e-9`)},
	{"minus one choice", "n", withField(`"n":-1`)},
}

func withField(member string) string {
	return `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}],` + member + `}`
}

func withMessage(message string) string {
	return `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"},` + message + `]}`
}

func surroundChat(body map[string]any) map[string]any {
	body["model"] = or(body, "model", lab.Model)
	user := map[string]any{"role": "user", "content": "Hi"}
	calls := map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
		"id": "x", "type": "function", "function": map[string]any{"name": "x", "arguments": "{}"},
	}}}
	if list, ok := or(body, "messages", []any{user}).([]any); ok && len(list) == 1 {
		// A result answers a call, and calls answer a question.
		before := []any{user, calls}
		if m, ok := list[0].(map[string]any); !ok || m["role"] != "tool" {
			before = []any{user, user}
		}
		body["messages"] = append(before, list...)
	}
	function := map[string]any{"type": "function", "function": map[string]any{"name": "x"}}
	kind := chosenKind(body["tool_choice"])
	for _, needs := range []struct {
		field, other string
		value        any
	}{
		{"stream_options", "stream", true},
		{"top_logprobs", "logprobs", true},
		{"tool_choice", "tools", []any{map[string]any{"type": kind, kind: map[string]any{"name": "x"}}}},
		{"parallel_tool_calls", "tools", []any{function}},
	} {
		if _, ok := body[needs.field]; ok && body[needs.field] != absent {
			body[needs.other] = or(body, needs.other, needs.value)
		}
	}
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == absent })
	return body
}

// chosenKind is the kind of tool that a tool_choice speaks of.
func chosenKind(choice any) string {
	if text, err := json.Marshal(choice); err == nil && strings.Contains(string(text), `"type":"custom"`) {
		return "custom"
	}
	return "function"
}
