package chatserver

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

func TestRewritten(t *testing.T) {
	kwargs := &contract.ChatServers{TemplateKwargs: `{"a":1,"b":2}`}
	keep := &contract.ChatServers{DeveloperRole: contract.DeveloperKeep}
	one := &contract.ChatServers{DeveloperRole: contract.DeveloperKeep, ReasoningHistory: contract.ReasoningOnly}
	both := &contract.ChatServers{ReasoningHistory: contract.ReasoningBoth}
	content := &contract.ChatServers{ReasoningHistory: contract.ReasoningContentOnly}
	none := &contract.ChatServers{ReasoningHistory: contract.ReasoningNone}
	const twice = `{"messages":[{"role":"assistant","reasoning":"a","reasoning_content":"b","content":"c"}],"model":"M"}`
	for _, tc := range []struct {
		name    string
		changes Changes
		in, out string
	}{
		{"reasoning twice", Changes{Chat: one}, twice,
			`{"messages":[{"role":"assistant","reasoning":"a","content":"c"}],"model":"M"}`},
		{"the other one", Changes{Chat: content}, twice,
			`{"messages":[{"role":"assistant","reasoning_content":"b","content":"c"}],"model":"M"}`},
		{"history without reasoning", Changes{Chat: none}, twice,
			`{"messages":[{"role":"assistant","reasoning_content":"b","content":"c"}],"model":"M"}`},
		{"both are wanted", Changes{Chat: both}, twice, twice},
		{"reasoning once", Changes{Chat: content}, `{"model":"M","messages":[{"reasoning":"a"},{"reasoning":null}]}`,
			`{"model":"M","messages":[{"reasoning":"a"},{"reasoning":null}]}`},
		{"null and null", Changes{Chat: content}, `{"model":"M","messages":[{"reasoning":null,"reasoning_content":null}]}`,
			`{"model":"M","messages":[{"reasoning_content":null}]}`},
		{"null and a text", Changes{Chat: content},
			`{"model":"M","messages":[{ "reasoning_content" : null , "reasoning" : "a" , "role":"developer"}]}`,
			`{"model":"M","messages":[{ "reasoning" : "a" , "role":"system"}]}`},
		{"a text and null", Changes{Chat: one},
			`{"model":"M","messages":[{"role":"developer","reasoning_content":"a","r\u0065asoning":null},{}]}`,
			`{"model":"M","messages":[{"role":"developer","reasoning_content":"a"},{}]}`},
		{"other case, other place", Changes{Chat: content},
			`{"model":"M","messages":[{"Reasoning":"a","reasoning_content":"a","content":[{"reasoning":"x"}]}, 7, null]}`,
			`{"model":"M","messages":[{"Reasoning":"a","reasoning_content":"a","content":[{"reasoning":"x"}]}, 7, null]}`},
		{"name", Changes{Chat: keep},
			`{ "model" : "x", "n":1.50, "messages": [ ] }`, `{"model":"M","n":1.50,"messages":[ ]}`},
		{"escaped name", Changes{Chat: keep}, `{"mod\u0065l":"x"}`, `{"model":"M"}`},
		{"name in another case", Changes{Chat: keep}, `{"Model":"y","model":"x","MODEL":"z"}`, `{"model":"M"}`},
		{"developer", Changes{Chat: &contract.ChatServers{}},
			`{"model":"x","messages":[{"role":"user","content":"developer"},` +
				`{"content":[{"role":"developer"}],"role": "developer" },` +
				`{"role":"d\u0065veloper"},1,"developer"]}`,
			`{"model":"M","messages":[{"role":"user","content":"developer"},` +
				`{"content":[{"role":"developer"}],"role": "system" },` +
				`{"role":"system"},1,"developer"]}`},
		{"no messages", Changes{Chat: &contract.ChatServers{}}, `{"model":"x","messages":"developer"}`,
			`{"model":"M","messages":"developer"}`},
		{"template", Changes{Chat: kwargs}, `{"model":"x"}`, `{"model":"M","chat_template_kwargs":{"a":1,"b":2}}`},
		{"client's template", Changes{Chat: kwargs}, `{"model":"x","chat_template_kwargs":{"b":"own" ,"c":[]}}`,
			`{"model":"M","chat_template_kwargs":{"b":"own","c":[],"a":1}}`},
		{"no template", Changes{Chat: kwargs}, `{"chat_template_kwargs":null,"model":"x"}`,
			`{"model":"M","chat_template_kwargs":{"a":1,"b":2}}`},
		{"bad template", Changes{Chat: kwargs}, `{"chat_template_kwargs":"{}","model":"x"}`,
			`{"chat_template_kwargs":"{}","model":"M"}`},
		{"extra", Changes{Chat: keep, ExtraBody: `{"top_k":5,"x":{"y":"z"},"model":"no","stream":true}`},
			`{"model":"x","top_k":null}`, `{"model":"M","top_k":null,"x":{"y":"z"}}`},
		{"limit", Changes{Chat: keep, ExtraBody: `{"max_tokens":5}`}, `{"model":"x","max_completion_tokens":3}`,
			`{"model":"M","max_completion_tokens":3}`},
		{"override", Changes{Chat: keep, Overrides: `{"temperature":1.0,"max_tokens":9}`,
			ExtraBody: `{"temperature":2,"top_k":1}`},
			`{"temperature":0,"Temperature":3,"model":"x","max_completion_tokens":3,"MAX_TOKENS":4,"top_p":1}`,
			`{"model":"M","top_p":1,"top_k":1,"temperature":1.0,"max_tokens":9}`},
		{"nothing of the servers' own", Changes{Chat: keep}, `{"model":"x","models":null}`, `{"model":"M","models":null}`},
		{"stream", Changes{Chat: keep, Stream: true},
			`{"model":"x","stream":false,"stream_options":{"a":1},"stream_options":null,"Stream":1}`,
			`{"model":"M","stream":true,"stream_options":{"include_usage":true}}`},
		{"ids", Changes{Chat: keep, TokenIDs: true}, `{"model":"x","logprobs":false,"top_logprobs":3}`,
			`{"model":"M","top_logprobs":3,"logprobs":true,"return_token_ids":true}`},
	} {
		tc.changes.Model = "M"
		got, failure := AppendRewritten([]byte("!"), []byte(tc.in), &tc.changes)
		if failure != nil || string(got) != "!"+tc.out {
			t.Errorf("%s: got %s, %v", tc.name, got, failure)
		}
		if err := rawjson.Validate(got[1:], rawjson.MaxDepth); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	in := `{"chat_template_kwargs":{},"chat_template_kwargs":{}}`
	if _, failure := AppendRewritten(nil, []byte(in), &Changes{Chat: kwargs}); failure == nil {
		t.Error("two template arguments are accepted")
	}
}

func TestRewrittenRefused(t *testing.T) {
	for _, in := range []string{
		`{"model":"x","models":["a","b"]}`, `{"Models":["a"],"model":"x"}`, `{"model":"x","lora_path":"a"}`,
		`{"model":"x","kv_transfer_params":{}}`, `{"model":"x","bootstrap_h\u006fst":"h"}`,
	} {
		_, failure := AppendRewritten(nil, []byte(in), &Changes{Model: "M", Chat: &contract.ChatServers{}})
		if failure == nil || failure.Status != 400 || failure.Code != contract.CodeUnsupportedParameter ||
			failure.Param == "" {
			t.Errorf("%s: %v", in, failure)
		}
	}
}
