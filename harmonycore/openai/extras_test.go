package openai

import (
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

func TestAllow(t *testing.T) {
	all := contract.KnownExtras()
	ids := strings.Repeat("1,", maxStopTokenIDs)
	for _, tt := range []struct {
		members, code, param string
		allowed              []string
		want                 Sampling
	}{
		{`"top_k":40,"min_p":0.10,"repetition_penalty":1.1`, "", "", all,
			Sampling{Extras: []Extra{{"top_k", "40"}, {"min_p", "0.10"}, {"repetition_penalty", "1.1"}}}},
		{`"top_k":40,"min_p":0.1`, "", "", []string{"min_p"}, Sampling{Extras: []Extra{{"min_p", "0.1"}}}},
		{`"top_k":"x","ignore_eos":false,"unknown":1`, "", "", nil, Sampling{}},
		{`"ignore_eos":false`, "", "", []string{"ignore_eos"}, Sampling{}},
		{`"top_k":1,"top_k":null,"top_k":2`, "", "", all, Sampling{Extras: []Extra{{"top_k", "2"}}}},
		{`"top_k":0`, "", "", all, Sampling{Extras: []Extra{{"top_k", "-1"}}}},
		{`"top_k":99999999999`, "", "", all, Sampling{Extras: []Extra{{"top_k", "2147483647"}}}},
		{`"top_k":-2`, contract.CodeInvalidValue, "top_k", all, Sampling{}},
		{`"top_k":1.5`, contract.CodeInvalidType, "top_k", all, Sampling{}},
		{`"min_p":2`, contract.CodeInvalidValue, "min_p", all, Sampling{}},
		{`"repetition_penalty":0`, contract.CodeInvalidValue, "repetition_penalty", all, Sampling{}},
		{`"min_tokens":3`, "", "", all, Sampling{MinTokens: 3, Extras: []Extra{{"min_tokens", "3"}}}},
		{`"min_tokens":-1`, contract.CodeInvalidValue, "min_tokens", all, Sampling{}},
		{`"priority":-5,"cache_salt":"a\"b"`, "", "", all,
			Sampling{Extras: []Extra{{"priority", "-5"}, {"cache_salt", `"a\"b"`}}}},
		{`"cache_salt":""`, contract.CodeInvalidValue, "cache_salt", all, Sampling{}},
		{`"cache_salt":"` + strings.Repeat("a", maxCacheSalt+1) + `"`, contract.CodeInvalidValue, "cache_salt", all,
			Sampling{}},
		{`"stop_token_ids":[1,200007]`, "", "", all, Sampling{StopTokenIDs: []uint32{1, 200007}}},
		{`"stop_token_ids":[1,null]`, contract.CodeInvalidType, "stop_token_ids[1]", all, Sampling{}},
		{`"stop_token_ids":[4294967296]`, contract.CodeInvalidValue, "stop_token_ids[0]", all, Sampling{}},
		{`"stop_token_ids":[-1]`, contract.CodeInvalidValue, "stop_token_ids[0]", all, Sampling{}},
		{`"stop_token_ids":7`, contract.CodeInvalidType, "stop_token_ids", all, Sampling{}},
		{`"stop_token_ids":[` + ids + `1]`, contract.CodeInvalidValue, "stop_token_ids", all, Sampling{}},
		{`"chat_template_kwargs":{"reasoning_effort":"high","enable_thinking":false}`, "", "", all,
			Sampling{TemplateEffort: "high",
				TemplateKwargs: []byte(`{"reasoning_effort":"high","enable_thinking":false}`)}},
		{`"chat_template_kwargs":{"reasoning_effort":"x"}`, contract.CodeInvalidValue,
			"chat_template_kwargs.reasoning_effort", all, Sampling{}},
		{`"chat_template_kwargs":[]`, contract.CodeInvalidType, "chat_template_kwargs", all, Sampling{}},
	} {
		r, err := decodeChat([]byte(`{"model":"m",` + tt.members + `,"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Errorf("%s: %v", tt.members, err)
			continue
		}
		err = r.Sampling.Allow(tt.allowed)
		checkError(t, tt.members, err, 400, tt.code, tt.param)
		if err == nil && !reflect.DeepEqual(r.Sampling, tt.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", tt.members, r.Sampling, tt.want)
		}
	}
}

func TestReasoningOfTheHistory(t *testing.T) {
	text := func(s string) string { return `{"type":"reasoning.text","text":"` + s + `","index":0}` }
	for _, tt := range []struct{ members, want string }{
		{`"reasoning_content":"b","reasoning":"a","thinking":"c"`, "a"},
		{`"thinking":"c","reasoning_content":"b"`, "b"},
		{`"thinking":"c","reasoning_details":[` + text("d") + `]`, "c"},
		{`"reasoning":{"effort":"x"},"thinking":null,"reasoning_content":7,"reasoning_details":[` + text("d1 ") + `,` +
			text("d2") + `]`, "d1 d2"},
		{`"reasoning_details":[{"type":"reasoning.summary","summary":"s1"},{"type":"reasoning.summary","summary":"s2"}]`,
			"s1\n\ns2"},
		{`"reasoning_details":[{"type":"reasoning.summary","summary":"s"},` + text("d") + `]`, "d"},
		{`"reasoning_details":[{"type":"reasoning.encrypted","data":"x"},7,{"type":7},{"type":"reasoning.text"},` + text("") +
			`]`, ""},
		{`"reasoning_details":{"a":1}`, ""},
	} {
		r, err := decodeChat([]byte(`{"model":"m","messages":[{"role":"assistant",` + tt.members + `}]}`))
		if err != nil || r.Messages[0].Reasoning != tt.want {
			t.Errorf("%s: %+v, %v", tt.members, r, err)
		}
	}
}
