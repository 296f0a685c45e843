package backend

import "testing"

func TestSGLangCompletionsRequest(t *testing.T) {
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{
			Request{Model: "m", Prompt: []uint32{200006, 17360}, MaxTokens: 4096, StopTokens: []uint32{200002, 200012},
				Sampling: Sampling{Temperature: "0.70", TopP: "0"}},
			`{"model":"m","prompt":[200006,17360],"max_tokens":4096,"stop_token_ids":[200002,200012],"temperature":0.70,` +
				`"top_p":1e-6,"skip_special_tokens":false,"no_stop_trim":true,"stream":true,"stream_options":` +
				`{"include_usage":true},"return_token_ids":true}`,
		},
		{
			Request{Model: "m", Prompt: []uint32{1}, MaxTokens: 5, Choices: 2, StructuralTag: []byte(`{"type":"x"}`),
				Sampling: Sampling{PresencePenalty: "1", FrequencyPenalty: "-1", Seed: "7", LogitBias: []Bias{{5, "-1"}},
					Extras: []Member{{"top_k", "40"}, {"cache_salt", `"s"`}, {"priority", "1"}, {"min_tokens", "2"}}}},
			`{"model":"m","prompt":[1],"max_tokens":5,"n":2,"stop_token_ids":[],"presence_penalty":1,"frequency_penalty":-1,` +
				`"seed":7,"logit_bias":{"5":-1},"top_k":40,"cache_salt":"s","priority":1,"min_tokens":2,"response_format":` +
				`{"type":"x"},"skip_special_tokens":false,"no_stop_trim":true,"stream":true,"stream_options":` +
				`{"include_usage":true},"return_token_ids":true}`,
		},
	} {
		if got := string(sglangCompletions{}.AppendRequest(nil, &tt.r)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

var sglangCompletionsStreams = []streamCase{
	{
		"tokens, usage, end", `data: {"id":"a","object":"text_completion","created":1,"model":"m","choices":[{"index":0,` +
			`"text":"<|channel|>","logprobs":null,"finish_reason":null,"matched_stop":null,"token_ids":[200005,35644],` +
			`"prompt_token_ids":[1,2,3]}],"usage":null}` + "\n\n" + `data: {"id":"a","object":"text_completion","created":1,` +
			`"model":"m","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"stop","matched_stop":200012,` +
			`"token_ids":[200012]}],"usage":null}` + "\n\n" + `data: {"id":"a","object":"text_completion","created":1,` +
			`"model":"m","choices":[],"usage":{"prompt_tokens":7,"total_tokens":10,"completion_tokens":3,` +
			`"prompt_tokens_details":{"cached_tokens":4},"reasoning_tokens":0}}` + "\n\ndata: [DONE]\n\n",
		"0:[200005 35644 200012]1  usage {Prompt:7 Cached:4 Completion:3 HasCached:true} done",
	},
	{
		"abort", `data: {"choices":[{"index":0,"text":"","finish_reason":"abort","token_ids":[]}]}` + "\n\n", "0:[]3 ",
	},
	{
		"without ids", `data: {"choices":[{"index":0,"text":"Hi","finish_reason":null,"matched_stop":null}]}` + "\n\n",
		" error {Status:502 Message:the inference server answers with text instead of token ids; it does not know " +
			"return_token_ids Type: Code: Param:}",
	},
	{
		"error",
		`data: {"error": {"object": "error", "message": "no memory", "type": "SERVICE_UNAVAILABLE", "param": null, ` +
			`"code": 503}}` + "\n\ndata: [DONE]\n\n",
		" error {Status:503 Message:no memory Type:SERVICE_UNAVAILABLE Code: Param:} done",
	},
}

func TestSGLangCompletionsStreams(t *testing.T) {
	checkStreams(t, sglangCompletions{}, sglangCompletionsStreams)
}

func FuzzSGLangCompletions(f *testing.F) {
	fuzzStreams(f, sglangCompletions{}, sglangCompletionsStreams)
}

func TestSGLangCompletionsErrors(t *testing.T) {
	e := ReadError(400, []byte(`{"object":"error","message":"The input (9 tokens) is longer than the model's context `+
		`length (8 tokens).","type":"BadRequestError","param":null,"code":400}`))
	if e.Type != "BadRequestError" || (sglangCompletions{}).Cause(e) != ContextExceeded {
		t.Errorf("%+v", e)
	}
	if got := (sglangCompletions{}).Cause(&Error{Status: 400, Message: "max_tokens must be positive"}); got != OtherCause {
		t.Errorf("cause %d", got)
	}
}
