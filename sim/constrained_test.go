package sim

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

const (
	// agentPrompt declares two functions by TypeScript that says less than the tag's schemas do.
	agentPrompt = "<|start|>system<|message|>You are.\nReasoning: low<|end|><|start|>developer<|message|># Tools\n\n" +
		"## functions\n\nnamespace functions {\n\ntype book = (_: {\nwhen: any,\n}) => any;\n\ntype final_answer = (_: {\n" +
		"text: string,\n}) => any;\n\n} // namespace functions<|end|>"
	asks     = "<|start|>user<|message|>Is it blue in Paris?<|end|>"
	calls    = "<|start|>assistant<|channel|>commentary to=functions.book <|constrain|>json<|message|>{}<|call|>"
	answered = "<|start|>functions.book to=assistant<|channel|>commentary<|message|>done<|end|>"
	opened   = "<|start|>assistant"

	nested = `{"type":"object","properties":{"when":{"$ref":"#/$defs/Day"}},"required":["when"],"additionalProp` +
		`erties":false,` +
		`"$defs":{"Day":{"type":"object","properties":{"day":{"enum":["monday","friday"]},"n":{"type":"integer"}},` +
		`"required":["day","n"],"additionalProperties":false}}}`
	textArguments = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
)

// agentTag is the tag of the gateway for two functions and an answer in a form; "" is that a function must be called.
func agentTag(form string) string {
	call := func(name, schema string) string {
		return `{"type":"sequence","elements":[{"type":"or","elements":[{"type":"const_string","value":"<|channel|` +
			`>commentary to=functions.` +
			name + `"},{"type":"const_string","value":" to=functions.` + name + `<|channel|>commentary"}]},` +
			`{"type":"const_string","value":" <|constrain|>json<|message|>"},{"type":"json_schema","json_schema":` + schema +
			`},{"type":"optional","content":{"type":"const_string","value":"<|call|>"}}]}`
	}
	answers := call("book", nested) + "," + call("final_answer", textArguments)
	if form != "" {
		answers += `,{"type":"sequence","elements":[{"type":"const_string","value":"<|channel|>final<|message|>"},` +
			`` + form + `]}`
	}
	return `{"type":"structural_tag","format":{"type":"sequence","elements":[{"type":"star","content":{"type":"` +
		`sequence",` +
		`"elements":[{"type":"const_string","value":"<|channel|>analysis<|message|>"},{"type":"any_text","excludes` +
		`":["<|end|>"]},` +
		`{"type":"const_string","value":"<|end|><|start|>assistant"}]}},{"type":"or","elements":[` + answers + `]}]}}`
}

// TestAgentsUnderTag answers prompts of agents: functions are called with arguments by the tag's schema, and after a
// tool's result the answer comes that ends the agent's work.
func TestAgentsUnderTag(t *testing.T) {
	schema := `{"type":"json_schema","json_schema":{"type":"object","properties":{"city":{"type":"string"}},"re` +
		`quired":["city"]}}`
	_, url := start(t, Options{})
	for name, tt := range map[string]struct{ prompt, form, want string }{
		"a call, with references": {asks, "", `to=functions.book <|constrain|>json<|message|>{"when":{"day":"m` +
			`onday","n":1}}<|call|>`},
		"a schema beside functions": {asks, schema, `to=functions.book <|constrain|>json<|message|>{"when":`},
		"a schema after a result":   {asks + calls + answered, schema, `final<|message|>{"city":"Paris"}<|return|>`},
		"only calls after a result": {asks + calls + answered, "", `to=functions.final_answer <|constrain|>json<` +
			`|message|>{"text":"Paris"}`},
		"a pattern after a result": {asks + calls + answered, `{"type":"regex","pattern":"[0-9]{3}"}`, `final<|` +
			`message|>111<|return|>`},
		"one of some texts": {asks + calls + answered, `{"type":"or","elements":[{"type":"const_string",` +
			`"value":"red"},{"type":"const_string","value":"blue"}]}`, `final<|message|>blue<|return|>`},
		"any object after a result": {asks + calls + answered, `{"type":"json_schema","json_schema":{"type":"obj` +
			`ect"}}`, `final<|message|>{}<|return|>`},
		"an object that a text shows": {strings.Replace(asks, "Is it", `Answer in JSON as {"type":"object","proper`+
			`ties":{"sky":{"type":"boolean"}},"required":["sky"]}. Is it`, 1) + calls + answered, `{"type":"json_sche` +
			`ma","json_schema":{"type":"object"}}`, `final<|message|>{"sky":true}<|return|>`},
	} {
		ids, _ := json.Marshal(encode(agentPrompt + tt.prompt + opened))
		tag, _ := json.Marshal(agentTag(tt.form))
		resp := post(t, url, `{"max_tokens":200,"skip_special_tokens":false,"include_stop_str_in_output":true,"prompt":`+
			string(ids)+`,"structured_outputs":{"structural_tag":`+string(tag)+`}}`)
		b, _ := io.ReadAll(resp.Body)
		var got struct{ Choices []struct{ Text string } }
		if err := json.Unmarshal(b, &got); err != nil || resp.StatusCode != 200 || len(got.Choices) != 1 ||
			!strings.Contains(got.Choices[0].Text, tt.want) {
			t.Errorf("%s: %d %s, want %s", name, resp.StatusCode, b, tt.want)
		}
	}
}

// TestAgentsAtAChatServer is the same at a server that renders prompts itself.
func TestAgentsAtAChatServer(t *testing.T) {
	tools := `,"tools":[{"type":"function","function":{"name":"book","parameters":` + nested + `}}]`
	const user = `{"role":"user","content":"Is it blue?"}`
	result := user + `,{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{` +
		`"name":"book",` +
		`"arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"done"}`
	for name, tt := range map[string]struct{ members, want string }{
		"forced": {`"messages":[` + user + `]` + tools + `,"tool_choice":"required"`,
			`{\"when\":{\"day\":\"monday\",\"n\":1}}`},
		"a schema after a result": {`"messages":[` + result + `]` + tools + `,"response_format":{"type":"json_sche` +
			`ma","json_schema":` +
			`{"name":"a","schema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}}`,
			`"content":"{\"ok\":true}"`},
		"choices": {`"messages":[` + user + `],"structured_outputs":{"choice":["red","blue"]}`, `"content":"blue"`},
		"pattern": {`"messages":[` + user + `],"structured_outputs":{"regex":"\\d+ (km|m)"}`, `"content":"1 km"`},
	} {
		if status, got := askChat(t, Options{}, `{`+tt.members+`}`); status != 200 || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %d %s, want %s", name, status, got, tt.want)
		}
	}
}
