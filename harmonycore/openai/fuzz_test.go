package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// checkDecoded checks that a decoder returns a request or an error, never both and never neither. It also checks that
// the second reader never fails on JSON that our scanner accepted.
func checkDecoded(t *testing.T, body []byte, decoded bool, err *Error) {
	if decoded == (err != nil) {
		t.Fatalf("%q: decoded %v, error %v", body, decoded, err)
	}
	if err == nil {
		return
	}
	if err.Status < 400 || err.Type == "" || err.Code == "" || err.Message == "" {
		t.Fatalf("%q: %+v", body, err)
	}
	if strings.HasPrefix(err.Message, "The JSON text here") {
		t.Fatalf("%q: the readers disagree at %q", body, err.Param)
	}
	if !json.Valid(err.AppendJSON(nil)) {
		t.Fatalf("%q: error body %s", body, err.AppendJSON(nil))
	}
}

func FuzzDecodeChatRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x\u00e9"}]}],` +
		`"tools":[{"type":"function","function":{"name":"f","parameters":{"a":[1]}}}]}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f",` +
		`"arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}],"stop":[],"seed":1,"temperature":1e0}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","name":"a","content":"x"},{"role":"assistant",` +
		`"reasoning_details":[{"type":"reasoning.text","text":"t"}],"tool_calls":[{"id":"c","type":"custom",` +
		`"custom":{"name":"f","input":"x"}}]}],"tools":[{"type":"custom","custom":{"name":"f","format":{"type":"text"}}}],` +
		`"top_k":1,"min_p":0.5,"cache_salt":"\"","stop_token_ids":[1],"chat_template_kwargs":{"reasoning_effort":"low"},` +
		`"logit_bias":{"1":-1},"metadata":{"a":"b"},"prediction":{"type":"content","content":"x"}}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function",` +
		`"function":{"name":"f","strict":true}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required",` +
		`"tools":[{"type":"function","function":{"name":"f"}}]}},"response_format":{"type":"json_schema",` +
		`"json_schema":{"name":"n","description":"d","strict":true,"schema":{ "a" : "\u0041\"" }}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		model, peeked := peek(body)
		r, err := decodeChat(body)
		checkDecoded(t, body, r != nil, err)
		if err == nil && (peeked != nil || model != r.Model) {
			t.Fatalf("%q: peeked %q, %v", body, model, peeked)
		}
		if err != nil {
			return
		}
		if r.Format.Schema != "" && !json.Valid([]byte(r.Format.Schema)) {
			t.Fatalf("%q: the schema becomes %s", body, r.Format.Schema)
		}
		if r.Choice.Required && len(r.Tools) == 0 {
			t.Fatalf("%q: a call is required without a tool", body)
		}
		if err := r.Sampling.Allow(contract.KnownExtras()); err != nil {
			checkDecoded(t, body, false, err)
			return
		}
		for _, extra := range r.Sampling.Extras {
			if !json.Valid([]byte(extra.JSON)) {
				t.Fatalf("%q: %s is sent as %s", body, extra.Name, extra.JSON)
			}
		}
	})
}

func FuzzDecodeResponsesRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function", ` +
		`"name":"f"},"text":{"format":{"type":"json_schema","name":"n","schema":{ "a" : 1 }}}}`))
	f.Add([]byte(`{"model":"m","input":[{"role":"user","content":"x"},{"type":"reasoning","summary":[],` +
		`"content":[{"type":"reasoning_text","text":"t"}]},{"type":"function_call","call_id":"c","name":"f",` +
		`"arguments":""},{"type":"function_call_output","call_id":"c","output":[]}]}`))
	f.Add([]byte(`{"model":"m","input":"x","metadata":{ "a":"\"\\" },"tools":[{"type":"namespace","name":"n",` +
		`"tools":[{"type":"function","name":"f"}]},{"type":"web_search"}],"text":{"format":{"type":"text"}},` +
		`"reasoning":{"effort":"low"}}`))
	f.Add([]byte(`{"model":"m","input":[{"type":"shell_call","call_id":"c","action":{ "commands" : ["a \" b"] }},` +
		`{"type":"shell_call_output","call_id":"c","output":[ {} ]},{"type":"mcp_call","name":"f","arguments":"{}",` +
		`"error":{ "a":1 }},{"type":"x"},{"type":"web_search_call","action":{},"status":"failed"}]}`))
	f.Add([]byte(`{"model":"m","input":"x","tools":[{"type":"builtin", "name":"browser"},{"type":"namespace","name":"n",` +
		`"tools":[{"type":"custom","name":"python"}]},{"type":"builtin","name":"python"}],"tool_choice":` +
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"builtin","name":"python"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decodeResponses(body)
		checkDecoded(t, body, r != nil, err)
		if err != nil {
			return
		}
		object := (&Response{Status: StatusCompleted, Usage: &Usage{}, Echo: r.Echo}).AppendJSON(nil)
		if !json.Valid(object) || strings.Contains(string(object), "\n") {
			t.Fatalf("%q: echoed as %s", body, object)
		}
	})
}
