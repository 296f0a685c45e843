package sim

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// wellTag is a tag of all formats: thoughts, perhaps a preamble, then a call or JSON.
const wellTag = `{"type":"structural_tag","format":{"type":"sequence","elements":[
	{"type":"star","content":{"type":"sequence","elements":[{"type":"const_string","value":"<|channel|>analysis<|message|>"},
		{"type":"any_text","excludes":["<|end|>","<|channel|>"]},{"type":"const_string","value":"<|end|><|start|>assistant"}]}},
	{"type":"or","elements":[
		{"type":"sequence","elements":[{"type":"const_string","value":" to=functions.f<|channel|>commentary json<|message|>"},
			{"type":"json_schema","json_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},
			{"type":"optional","content":{"type":"const_string","value":"<|call|>"}}]},
		{"type":"sequence","elements":[{"type":"const_string","value":"<|channel|>final<|message|>"},{"type":"json_schema","json_schema":true}]}]}]}}`

// TestTagRefusals has tags that vLLM refuses, and also some that xgrammar would ignore.
func TestTagRefusals(t *testing.T) {
	_, url := start(t, Options{})
	ids, _ := json.Marshal(encode(hello))
	for structured, about := range map[string]string{
		`{}`: "none are specified", `{"structural_tag":null}`: "none are specified",
		`{"structural_tag":"{}","json":{}}`: "multiple are specified", `{"json":{},"regex":"x"}`: "multiple are specified",
		`{"json":{}}`: "structural tags only", `{"structural_tag":{}}`: "valid string",
		`{"structural_tag":"{"}`: "Invalid structural tag specification.",
	} {
		expectRefusal(t, url, string(ids), structured, about)
	}
	for _, format := range []string{
		``, `null`, `{"type":"nope"}`, `{"type":"const_string"}`, `{"type":"const_string","value":1}`,
		`{"type":"const_string","value":"x","foo":1}`,
		`{"type":"any_text","excludes":"x"}`, `{"type":"json_schema"}`, `{"type":"regex"}`, `{"type":"grammar"}`,
		`{"type":"grammar","grammar":"root ::= x"}`, `{"type":"regex","pattern":"(?P<n>a)"}`,
		`{"type":"regex","pattern":"\\\\b"}`, `{"type":"regex","pattern":"["}`, `{"type":"json_schema","json_schema":1}`,
		`{"type":"json_schema","json_schema":"{}"}`,
		`{"type":"json_schema","json_schema":{"type":"nope"}}`, `{"type":"json_schema","json_schema":{"$ref":"#/x"}}`,
		`{"type":"sequence","elements":[]}`,
		`{"type":"or","elements":[null]}`, `{"type":"or"}`, `{"type":"star"}`, `{"type":"optional","content":{"type":"or"}}`,
		`{"type":"sequence","elements":[{"type":"star"}]}`,
	} {
		tag, _ := json.Marshal(`{"type":"structural_tag","format":` + format + `}`)
		expectRefusal(t, url, string(ids), `{"structural_tag":`+string(tag)+`}`, "Invalid structural tag specification.")
	}
	for _, tag := range []string{`{"type":"x","format":{"type":"any_text"}}`, `{"type":"structural_tag"}`,
		`{"type":"structural_tag","format":{"type":"any_text"}}{}`} {
		text, _ := json.Marshal(tag)
		expectRefusal(t, url, string(ids), `{"structural_tag":`+string(text)+`}`, "Invalid structural tag specification.")
	}
}

func expectRefusal(t *testing.T, url, ids, structured, about string) {
	t.Helper()
	resp := post(t, url, `{"max_tokens":100,"prompt":`+ids+`,"structured_outputs":`+structured+`}`)
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 400 || !strings.Contains(string(b), about) {
		t.Errorf("%s: %d %s", structured, resp.StatusCode, b)
	}
}

// A script that a tag would not have let through is the server's error, and the built-in model keeps to the tag by
// itself.
func TestAnswersUnderTag(t *testing.T) {
	tag, _ := json.Marshal(wellTag)
	ids, _ := json.Marshal(encode(hello))
	body := `{"max_tokens":100,"skip_special_tokens":false,"include_stop_str_in_output":true,"prompt":` + string(ids) +
		`,"structured_outputs":{"structural_tag":` + string(tag) + `}}`
	_, url := start(t, Options{Script: NewScript(Line{Tokens: encode("<|channel|>final<|message|>Hello<|return|>")})})
	resp := post(t, url, body)
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 400 ||
		!strings.Contains(string(b), "does not keep to the structural tag") {
		t.Errorf("%d %s", resp.StatusCode, b)
	}
	_, url = start(t, Options{})
	resp = post(t, url, body)
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 ||
		!strings.Contains(string(b), `<|channel|>final<|message|>\"Hello\"<|return|>`) {
		t.Errorf("%d %s", resp.StatusCode, b)
	}
	never := strings.Replace(body, `\"json_schema\":true`, `\"json_schema\":false`, 1)
	never = strings.Replace(never, `\"integer\"`, `\"integer\",\"minimum\":2,\"maximum\":1`, 1)
	if resp = post(t, url, never); resp.StatusCode != 400 {
		t.Errorf("nothing to say: %d", resp.StatusCode)
	}
}
