package backend

import "testing"

func TestVLLMGenerateRequest(t *testing.T) {
	budget := 100
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{
			Request{Model: `open"ai/x`, Prompt: []uint32{200006, 17360}, MaxTokens: 4096,
				StopTokens: []uint32{200002, 200012}, Sampling: Sampling{Temperature: "0.70", TopP: "0"}},
			`{"model":"open\"ai/x","token_ids":[200006,17360],"sampling_params":{"max_tokens":4096,"stop_token_ids":` +
				`[200002,200012],"temperature":0.70,"top_p":1e-6,"detokenize":false},"stream":true,` +
				`"stream_options":{"include_usage":true}}`,
		},
		{
			Request{Model: "m", Prompt: []uint32{1}, MaxTokens: 5, Choices: 2, Logprobs: true, TopLogprobs: 3,
				ThinkingBudget: &budget, StructuralTag: []byte(`{"a":1}`),
				Sampling: Sampling{PresencePenalty: "1", FrequencyPenalty: "-1", Seed: "7", LogitBias: []Bias{{5, "-1"}},
					Extras: []Member{{"top_k", "40"}, {"cache_salt", `"s"`}, {"priority", "1"}, {"min_tokens", "2"}}}},
			`{"model":"m","token_ids":[1],"cache_salt":"s","priority":1,"sampling_params":{"max_tokens":5,"n":2,` +
				`"logprobs":3,"stop_token_ids":[],"presence_penalty":1,"frequency_penalty":-1,"seed":7,` +
				`"thinking_token_budget":100,"logit_bias":{"5":-1},"top_k":40,"min_tokens":2,` +
				`"structured_outputs":{"structural_tag":"{\"a\":1}"},"detokenize":false},"reasoning_ended":true,` +
				`"stream":true,"stream_options":{"include_usage":true}}`,
		},
	} {
		if got := string(vllmGenerate{}.AppendRequest(nil, &tt.r)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

var vllmGenerateStreams = []streamCase{
	{
		"tokens, usage, end", `data: {"request_id":"generate-tokens-a","usage":null,"output_mode":"tokens","choices":[` +
			`{"index":0,"finish_reason":null,"stop_reason":null,"token_ids":[200005,35644],"logprobs":null}]}` + "\n\n" +
			`data: {"request_id":"a","usage":null,"output_mode":"tokens","choices":[{"index":0,"finish_reason":"stop",` +
			`"stop_reason":200012,"token_ids":[200012],"logprobs":null}]}` + "\n\n" +
			`data: {"request_id":"a","usage":{"prompt_tokens":7,"total_tokens":10,"completion_tokens":3,` +
			`"prompt_tokens_details":{"cached_tokens":4}},"output_mode":"tokens","choices":[]}` + "\n\ndata: [DONE]\n\n",
		"0:[200005 35644 200012]1  usage {Prompt:7 Cached:4 Completion:3 HasCached:true} done",
	},
	{
		"two choices", `data: {"choices":[{"index":1,"token_ids":[5]}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"token_ids":[6],"finish_reason":"length"}]}` + "\n\n" +
			`data: {"choices":[{"index":1,"token_ids":[],"finish_reason":"abort"}]}` + "\n\n",
		"0:[6]2 1:[5]3 ",
	},
	{
		"logprobs", `data: {"choices":[{"index":0,"token_ids":[7,8],"logprobs":{"content":[{"token_id":7,"logprob":-0.1,` +
			`"rank":1,"top_logprobs":[{"token_id":7,"logprob":-0.1,"rank":1},{"token_id":9,"logprob":-2.5,"rank":2}]},` +
			`{"token_id":8,"logprob":-9999.0,"rank":null,"top_logprobs":[]}]}}]}` + "\n\n",
		"0:[7 8]0  -0.1/7:-0.1/9:-2.5 -9999.0",
	},
	{
		"odd logprobs", `data: {"choices":[{"index":0,"token_ids":[7],"logprobs":{"content":[{"logprob":-1,"top_logprobs":` +
			`[1,{"token_id":"x","logprob":-1},{"token_id":5},{"logprob":-1},{"token_id":4,"logprob":null}]},` +
			`{"token_id":8},{"logprob":-1}]}}]}` + "\n\n",
		"0:[7]0  -1",
	},
	{"content null", `data: {"choices":[{"index":0,"token_ids":[7],"logprobs":{"content":null}}]}` + "\n\n", "0:[7]0 "},
	{
		"error", `data: {"error":{"message":"Internal server error","type":"InternalServerError","param":null,` +
			`"code":500}}` + "\n\ndata: [DONE]\n\n",
		" error {Status:500 Message:Internal server error Type:InternalServerError Code: Param:} done",
	},
	{
		"no ids", `data: {"choices":[{"index":0,"text":"Hi"}]}` + "\n\n",
		" error {Status:502 Message:the inference server sent a choice without token ids, which it never should Type: " +
			"Code: Param:}",
	},
	{
		"ids of another type", `data: {"choices":[{"index":"x","token_ids":[1,-2,"3",99999999999]}]}` + "\n\n",
		"-1:[1 4294967295 4294967295 4294967295]0 ",
	},
}

func TestVLLMGenerateStreams(t *testing.T) { checkStreams(t, vllmGenerate{}, vllmGenerateStreams) }

func FuzzVLLMGenerate(f *testing.F) { fuzzStreams(f, vllmGenerate{}, vllmGenerateStreams) }

func TestVLLMGenerateCause(t *testing.T) {
	const long = "The decoder prompt (length 9) is longer than the maximum model length of 8. Make sure that …"
	for _, tt := range []struct {
		e    Error
		want Cause
	}{
		{Error{Status: 400, Message: long}, ContextExceeded}, {Error{Status: 500, Message: long}, OtherCause},
		{Error{Status: 400, Message: "x"}, OtherCause}, {Error{Status: 400, Param: "n"}, ChoicesRefused},
		{Error{Status: 400, Message: guidanceRefusal}, TagRefused},
	} {
		if got := (vllmGenerate{}).Cause(&tt.e); got != tt.want {
			t.Errorf("%+v: %d", tt.e, got)
		}
	}
}
