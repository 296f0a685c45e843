//go:build e2e

package fields

import (
	"maps"
	"strings"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

var responsesAPI = &fieldAPI{
	path: lab.ResponsesPath, schema: "CreateResponse", table: lab.File("docs/responses-fields.md"), turns: "input",
	surround: surroundResponses,
	examples: map[string]any{
		"model": lab.Model, "frequency_penalty": 0.5, "presence_penalty": 0.5, "temperature": 0.5, "top_p": 0.5,
		"reasoning.effort": "low", "include[]": "reasoning.encrypted_content", "context_management[].compact_threshold": 1000,
		"max_output_tokens": 16,
	},
	refusedWords: map[string]bool{"reasoning.effort: none": true},
	// which is as good, and first
	alsoNamed: map[string]string{"input[](local_shell_call_output).id": "input[2].call_id"},
	tolerated: map[string]string{
		"input[](apply_patch_call).call_id: empty": anyID, "input[](apply_patch_call).call_id: too long": anyID,
		"input[](shell_call).call_id: empty": anyID, "input[](shell_call).call_id: too long": anyID,
		"input[](local_shell_call).call_id: missing":         "the item's own id will do",
		"input[](function_call_output).name: empty":          besideCall,
		"input[](function_call_output).name: too long":       besideCall,
		"input[](function_call_output).namespace: empty":     besideCall,
		"input[](function_call_output).namespace: too long":  besideCall,
		"input[](message).phase: a array":                    onlyAHint,
		"input[](message).phase: a boolean":                  onlyAHint,
		"input[](message).phase: a integer":                  onlyAHint,
		"input[](message).phase: a number":                   onlyAHint,
		"input[](message).phase: a object":                   onlyAHint,
		"input[](message).phase: an unknown value":           onlyAHint,
		"input[](reasoning).content: a string":               "a text is as good as a part with it",
		"input[](reasoning).summary: a string":               "a text is as good as a part with it",
		"input[](reasoning).summary: missing":                leftOut,
		"input[](tool_search_call).call_id: empty":           anyID,
		"input[](tool_search_call).call_id: too long":        anyID,
		"input[](tool_search_output).call_id: empty":         anyID,
		"input[](tool_search_output).call_id: too long":      anyID,
		"input[](tool_search_output).tools: missing":         leftOut,
		"tools[](tool_search).execution: missing":            "then the server would search",
		"safety_identifier: too long":                        "it is repeated, up to a limit of its own",
		"tools[](*): another form":                           notKnown,
		"input[](*): another form":                           notKnown,
		"tools[](function).parameters: missing":              leftOut,
		"tools[](namespace).description: missing":            leftOut,
		"tools[](function).strict: missing":                  leftOut,
		"tools[](function).parameters.*: beyond all numbers": "it goes where it came from, in the answer's echo",
		"tools[](namespace).tools: empty":                    "it offers nothing",
	},
	handMade: []handMade{
		{"input twice", "input", `{"model":"gpt-oss-120b","input":"Hi","input":"Ho"}`},
		{"no input", "input", `{"model":"gpt-oss-120b"}`},
		{"no items at all", "input", `{"model":"gpt-oss-120b","input":[]}`},
		{"half a character", "input", "{\"model\":\"gpt-oss-120b\",\"input\":\"\xf0\x9f\"}"},
		{"half a surrogate pair", "user", withMember(`"user":"\ud83d"`)},
		{"messages of Chat", "input", `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}]}`},
		{"a tool of Chat", "tools[0].name", withMember(`"tools":[{"type":"function","function":{"name":"f"}}]`)},
		{"a number among the parts", "input[1].content[1]",
			withItem(`{"role":"user","content":[{"type":"input_text","text":"a"},7]}`)},
		{"a number among the items", "input[1]", withItem(`7`)},
		{"neither a type nor a role", "input[1].type", withItem(`{"content":"a"}`)},
		{"a result of no call", "input[1].call_id",
			withItem(`{"type":"function_call_output","call_id":"nobody","output":"r"}`)},
		{"a call with a header in its name", "input[1].name",
			withItem(`{"type":"function_call","call_id":"c","name":"f <|constrain|>json","arguments":"{}"}`)},
		{"a call into a namespace with a space", "input[1].namespace",
			withItem(`{"type":"function_call","call_id":"c","name":"f","namespace":"a b","arguments":"{}"}`)},
		{"a function's name with a space", "tools[0].name", withMember(`"tools":[{"type":"function","name":"a b"}]`)},
		{"a nested namespace", "tools[0].tools[0].type", withMember(`"tools":[{"type":"namespace","name":"n",` +
			`"tools":[{"type":"namespace","name":"m","tools":[]}]}]`)},
		{"a deep schema", "tools[0].parameters",
			withMember(`"tools":[{"type":"function","name":"f","parameters":` + nest(33) + `}]`)},
		{"a deep form of the answer", "text.format.schema",
			withMember(`"text":{"format":{"type":"json_schema","name":"s","schema":` + nest(33) + `}}`)},
		{"a choice that is no tool", "tool_choice",
			withMember(`"tool_choice":{"type":"function","name":"g"},"tools":[{"type":"function","name":"f"}]`)},
		{"a choice without tools", "tool_choice", withMember(`"tool_choice":"required"`)},
		{"a choice of Chat without a name", "tool_choice", withMember(`"tool_choice":{"type":"function","function":{}},` +
			`"tools":[{"type":"function","name":"f"}]`)},
		{"seventeen pairs", "metadata", withMember(`"metadata":{` + manyMembers(17) + `}`)},
		{"a user of five thousand letters", "user", withMember(`"user":"` + strings.Repeat("x", 5000) + `"`)},
		{"no tokens at all", "max_output_tokens", withMember(`"max_output_tokens":0`)},
		{"fifteen tokens", "max_output_tokens", withMember(`"max_output_tokens":15`)},
		{"a response and a conversation", "conversation",
			withMember(`"conversation":"conv_1","previous_response_id":"resp_1"`)},
		{"something that is not includable", "include[0]", withMember(`"include":["everything"]`)},
		{"sealed by nobody", "input[1].encrypted_content",
			withItem(`{"type":"reasoning","summary":[],"encrypted_content":7}`)},
	},
}

// Why a mistake is none.
const (
	onlyAHint  = "it is a hint, and what is no word of it is none"
	anyID      = "an id only binds a result to its call"
	leftOut    = "clients leave it out"
	notKnown   = "what is not known is ignored"
	besideCall = "beside the id of a call it is not used"
)

func withMember(member string) string { return `{"model":"gpt-oss-120b","input":"Hi",` + member + `}` }

func withItem(item string) string {
	return `{"model":"gpt-oss-120b","input":[{"role":"user","content":"Hi"},` + item + `]}`
}

func surroundResponses(body map[string]any) map[string]any {
	body["model"] = or(body, "model", lab.Model)
	user := map[string]any{"role": "user", "content": "Hi"}
	if list, ok := or(body, "input", "Hi").([]any); ok && len(list) == 1 {
		// A result answers a call, and calls answer a question.
		before := []any{user, user}
		switch m, _ := list[0].(map[string]any); m["type"] {
		case "function_call_output":
			before[1] = map[string]any{"type": "function_call", "call_id": "x", "name": "x", "arguments": "{}"}
		case "custom_tool_call_output":
			before[1] = map[string]any{"type": "custom_tool_call", "call_id": "x", "name": "x", "input": "x"}
		case "local_shell_call_output", "shell_call_output", "apply_patch_call_output":
			call, _ := strings.CutSuffix(m["type"].(string), "_output")
			before[1] = map[string]any{"type": call, "call_id": "x", "action": map[string]any{}, "operation": map[string]any{}}
		}
		body["input"] = append(before, list...)
	}
	body["input"] = or(body, "input", "Hi")
	for _, needs := range []struct {
		field, other string
		value        any
	}{
		{"stream_options", "stream", true},
		{"tool_choice", "tools", []any{map[string]any{"type": chosenKind(body["tool_choice"]), "name": "x"}}},
		{"parallel_tool_calls", "tools", []any{map[string]any{"type": "function", "name": "x"}}},
	} {
		if _, ok := body[needs.field]; ok && body[needs.field] != absent {
			body[needs.other] = or(body, needs.other, needs.value)
		}
	}
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == absent })
	return body
}
