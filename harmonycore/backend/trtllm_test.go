package backend

import "testing"

func TestTRTLLMRequest(t *testing.T) {
	budget := 100
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{
			Request{Model: "m", Prompt: []uint32{200006, 17360}, MaxTokens: 4096, StopTokens: []uint32{200002, 200012},
				Sampling: Sampling{Temperature: "0.70", TopP: "0"}},
			`{"model":"m","prompt":[200006,17360],"max_tokens":4096,"stop_token_ids":[200002,200012],"temperature":0.70,` +
				`"top_p":1e-6,"detokenize":false,"include_stop_str_in_output":true,"stream":true,"stream_options":` +
				`{"include_usage":true}}`,
		},
		{
			Request{Model: "m", Prompt: []uint32{1}, MaxTokens: 5, ThinkingBudget: &budget,
				StructuralTag: []byte(`{"type":"x"}`), Sampling: Sampling{PresencePenalty: "1", FrequencyPenalty: "-1",
					Seed: "7", LogitBias: []Bias{{5, "-1"}}, Extras: []Member{{"top_k", "-1"}, {"min_tokens", "2"}}}},
			`{"model":"m","prompt":[1],"max_tokens":5,"stop_token_ids":[],"presence_penalty":1,"frequency_penalty":-1,` +
				`"seed":7,"thinking_token_budget":100,"logit_bias":{"5":-1},"top_k":0,"min_tokens":2,"response_format":` +
				`{"type":"x"},"detokenize":false,"include_stop_str_in_output":true,"stream":true,"stream_options":` +
				`{"include_usage":true}}`,
		},
	} {
		if got := string(trtllm{}.AppendRequest(nil, &tt.r)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// trtllmEvent is an event of trtllm-serve's with these ids and ends.
func trtllmEvent(ids, finish, stop string) string {
	return `data: {"id":"a","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"",` +
		`"token_ids":[` + ids + `],"logprobs":null,"finish_reason":` + finish + `,"stop_reason":` + stop +
		`,"avg_decoded_tokens_per_iter":1.0}],"usage":null}` + "\n\n"
}

var trtllmStreams = []streamCase{
	{
		"tokens, usage, end", trtllmEvent("200005,35644", "null", "null") + trtllmEvent("200012", `"stop"`, "200012") +
			`data: {"id":"a","object":"text_completion","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":7,` +
			`"total_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}` +
			"\n\ndata: [DONE]\n\n",
		"0:[200005 35644 200012]1  usage {Prompt:7 Cached:4 Completion:3 HasCached:true} done",
	},
	{"the own end", trtllmEvent("5,200002", `"stop"`, "null"), "0:[5 200002]1 "},
	{"the own end, left out", trtllmEvent("5", "null", "null") + trtllmEvent("", `"stop"`, "null"), "0:[5 200002]1 "},
	{"a call's end, left out", trtllmEvent("5", `"stop"`, "200012"), "0:[5 200012]1 "},
	{"a client's end, left out", trtllmEvent("5", `"stop"`, "17"), "0:[5 17]1 "},
	{"another end", trtllmEvent("5,199999", `"stop"`, "null"), "0:[5 199999]1 "},
	{"a call's end, without a reason", trtllmEvent("200012", "null", "null") + trtllmEvent("", `"stop"`, "null"),
		"0:[200012]1 "},
	{"a stop string", trtllmEvent("5", `"stop"`, `"x"`), "0:[5 200002]1 "},
	{"length", trtllmEvent("5,6", `"length"`, "null"), "0:[5 6]2 "},
	{"cancelled", trtllmEvent("5", `"cancelled"`, "null"), "0:[5]3 "},
	{
		"an error", `data: {"error": {"message": "no memory", "type": "server_error", "code": null, "param": null}}` +
			"\n\ndata: [DONE]\n\ndata: [DONE]\n\n",
		" error {Status:500 Message:no memory Type:server_error Code: Param:} done done",
	},
	{
		"a refusal", "data: {\"error\": {\"message\": \"`default_max_tokens` (0) must be greater than 0\", \"type\": " +
			"\"server_error\", \"code\": null, \"param\": null}}\n\n",
		" error {Status:400 Message:`default_max_tokens` (0) must be greater than 0 Type:server_error Code: Param:}",
	},
	{
		"text", `data: {"choices":[{"index":0,"text":"Hi","token_ids":null,"finish_reason":null}]}` + "\n\n",
		" error {Status:502 Message:the inference server answers without token ids; it does not know detokenize Type: " +
			"Code: Param:}",
	},
}

func TestTRTLLMStreams(t *testing.T) { checkStreams(t, trtllm{}, trtllmStreams) }

func FuzzTRTLLM(f *testing.F) { fuzzStreams(f, trtllm{}, trtllmStreams) }

func TestTRTLLMErrors(t *testing.T) {
	for body, want := range map[string]Cause{
		"{\"message\":\"`default_max_tokens` (-152) must be greater than 0, `default_max_tokens` …\"}":      ContextExceeded,
		`{"message":"The sum of prompt length (9), query length (0) should not exceed max_num_tokens (8)"}`: ContextExceeded,
		`{"message":"The sum of prompt length (9), query length (0) should not exceed max_seq_len (8)"}`:    ContextExceeded,
		`{"error":"[{'type': 'extra_forbidden', 'loc': ('body', 'cache_salt')}]"}`:                          OtherCause,
	} {
		e := ReadError(400, []byte(body))
		if got := (trtllm{}).Cause(e); got != want || len(e.Message) < 50 {
			t.Errorf("%s: %d, %+v", body, got, e)
		}
		if got := (trtllm{}).Cause(&Error{Status: 500, Message: e.Message}); got != OtherCause {
			t.Errorf("500 %s: %d", body, got)
		}
	}
}
