package backend

import (
	"strings"
	"testing"
)

func TestVLLMLegacyRequest(t *testing.T) {
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{
			Request{Model: "m", Prompt: []uint32{200006, 17360}, MaxTokens: 4096, StopTokens: []uint32{200002},
				Sampling: Sampling{TopP: "0"}},
			`{"model":"m","prompt":[200006,17360],"max_tokens":4096,"logprobs":0,"return_tokens_as_token_ids":true,` +
				`"stop_token_ids":[200002],"top_p":1e-6,"stream":true,"stream_options":{"include_usage":true}}`,
		},
		{
			Request{Model: "m", Prompt: []uint32{1}, MaxTokens: 5, Choices: 2, Logprobs: true, TopLogprobs: 3,
				Sampling: Sampling{Extras: []Member{{"top_k", "40"}}}},
			`{"model":"m","prompt":[1],"max_tokens":5,"n":2,"logprobs":3,"return_tokens_as_token_ids":true,` +
				`"stop_token_ids":[],"top_k":40,"stream":true,"stream_options":{"include_usage":true}}`,
		},
	} {
		if got := string(vllmLegacy{}.AppendRequest(nil, &tt.r)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

var vllmLegacyStreams = []streamCase{
	{
		"tokens, usage, end", `data: {"choices":[{"index":0,"text":"","logprobs":{"text_offset":[0,0],"token_logprobs":` +
			`[-0.1,-2.5],"tokens":["token_id:200005","token_id:35644"],"top_logprobs":[{"token_id:200005":-0.1,` +
			`"token_id:9":-3},{"token_id:35644":-2.5}]},"finish_reason":null,"stop_reason":null}],"usage":null}` + "\n\n" +
			`data: {"choices":[{"index":0,"text":"","logprobs":{"token_logprobs":[-1],"tokens":["token_id:200012"]},` +
			`"finish_reason":"stop","stop_reason":200012}]}` + "\n\n" +
			`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}` + "\n\ndata: [DONE]\n\n",
		"0:[200005 35644 200012]1  -0.1/200005:-0.1/9:-3 -2.5/35644:-2.5 -1 usage {Prompt:7 Cached:0 Completion:3 " +
			"HasCached:false} done",
	},
	{
		"no ids", `data: {"choices":[{"index":1,"text":"","logprobs":{"tokens":["token_id:-7","token_id:","x","7",7,null,` +
			`"token_id:5000000000"]}}]}` + "\n\n",
		"1:[4294967295 4294967295 4294967295 4294967295 4294967295 4294967295 4294967295]0 ",
	},
	{
		"text alone", `data: {"choices":[{"index":0,"text":"Hi","logprobs":null}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"text":"Hi","logprobs":{"tokens":"token_id:7"}}]}` + "\n\n",
		strings.Repeat(" error {Status:502 Message:the inference server answers with text instead of token ids; it does "+
			"not know return_tokens_as_token_ids Type: Code: Param:}", 2),
	},
	{
		"logprobs twice",
		`data: {"choices":[{"index":0,"text":"","logprobs":{"token_logprobs":[-1],"tokens":["token_id:7"]},` +
			`"logprobs":{"tokens":["token_id:8"],"top_logprobs":[{"token_id:9":-2}]}}]}` + "\n\n",
		"0:[7 8]0  -1",
	},
	{"the end alone", `data: {"choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"length"}]}` + "\n\n",
		"0:[]2 "},
}

func TestVLLMLegacyStreams(t *testing.T) { checkStreams(t, vllmLegacy{}, vllmLegacyStreams) }

func FuzzVLLMLegacy(f *testing.F) { fuzzStreams(f, vllmLegacy{}, vllmLegacyStreams) }

func TestVLLMLegacyCause(t *testing.T) {
	const long = "This model's maximum context length is 8 tokens. However, your request has 9 input tokens."
	for _, tt := range []struct {
		e    Error
		want Cause
	}{
		{Error{Status: 400, Message: long}, ContextExceeded}, {Error{Status: 500, Message: long}, OtherCause},
		{Error{Status: 400, Message: "x"}, OtherCause},
	} {
		if got := (vllmLegacy{}).Cause(&tt.e); got != tt.want {
			t.Errorf("%+v: %d", tt.e, got)
		}
	}
}
