package sim

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// sglangScript is an answer of two events.
func sglangScript() *Script {
	return NewScript(Line{Match: "Hello", Tokens: []uint32{200005, 17196, 200008, 13225, 200002}, Chunks: []int{2, 3}})
}

func TestSGLang(t *testing.T) {
	n, m := strconv.Itoa(len(encode(hello))), strconv.Itoa((len(encode(hello))-1)/16*16)
	event := func(text, ids, finish, completion string) string {
		return `data: {"text":"` + text + `","output_ids":[` + ids + `],"meta_info":{"id":"r","finish_reason":` + finish +
			`,"prompt_tokens":` + n + `,"weight_version":"default","num_retractions":0,"reasoning_tokens":0,` +
			`"completion_tokens":` + completion + `,"cached_tokens":0}}` + "\n\n"
	}
	const stop = `{"type":"stop","matched":200002}`
	for _, tc := range []struct {
		incremental    bool
		sampling, want string
	}{
		{
			sampling: `{"skip_special_tokens":false,"no_stop_trim":true}`,
			want: event("<|channel|>final", "200005,17196", "null", "2") +
				event("<|channel|>final<|message|>Hello<|return|>", "200005,17196,200008,13225,200002", stop, "5"),
		},
		{
			incremental: true, sampling: `{}`,
			want: event("final", "200005,17196", "null", "2") +
				event("Hello", "200008,13225,200002", stop, "5"),
		},
		{
			incremental: true, sampling: `{"max_new_tokens":1}`,
			want: event("", "200005", `{"type":"length","length":1}`, "1"),
		},
	} {
		s, url := start(t, Options{Kind: SGLang, Script: sglangScript(), IncrementalStreaming: tc.incremental})
		status, got := ask(t, url+"/generate", `{"rid":"r","model":"ignored","input_ids":`+idsOf(hello)+
			`,"sampling_params":`+tc.sampling+`,"stream":true}`)
		if want := tc.want + "data: [DONE]\n\n"; status != 200 || got != want {
			t.Errorf("%s: status %d\ngot  %s\nwant %s", tc.sampling, status, got, want)
		}
		if q := await(t, s, completed)[0]; q.ID != "r" || !q.Stream || len(q.PromptIDs) != len(encode(hello)) {
			t.Errorf("recorded %+v", q)
		}
		// The same prompt again is in the cache.
		if _, got := ask(t, url+"/generate", `{"input_ids":`+idsOf(hello)+`,"sampling_params":{"n":2},"return_logprob":true,`+
			`"top_logprobs_num":1}`); !strings.Contains(got, `"cached_tokens":`+m) || !strings.HasPrefix(got, "[{") ||
			!strings.Contains(got, `"output_token_logprobs":[[-0.125,200005,null],`) ||
			!strings.Contains(got, `"output_token_logprobs_length":5,"output_top_logprobs":[[[-0.125,200005,null]],`) {
			t.Errorf("whole: %s", got)
		}
	}
}

func TestSGLangChoices(t *testing.T) {
	_, url := start(t, Options{Kind: SGLang, Script: sglangScript()})
	_, got := ask(t, url+"/generate", `{"rid":"r","input_ids":`+idsOf(hello)+
		`,"sampling_params":{"n":2},"stream":true}`)
	for _, want := range []string{`"meta_info":{"id":"r_0",`, `},"index":0}`, `"meta_info":{"id":"r_1",`, `},"index":1}`} {
		if strings.Count(got, want) != 2 {
			t.Errorf("%s is not there twice: %s", want, got)
		}
	}
}

// TestSGLangDefaults: without a limit an answer has 128 tokens.
func TestSGLangDefaults(t *testing.T) {
	s, url := start(t, Options{Kind: SGLang, Script: NewScript(Line{Tokens: encode(strings.Repeat(" a", 300))})})
	ask(t, url+"/generate", `{"input_ids":`+idsOf(hello)+`,"stream":true}`)
	if q := await(t, s, completed)[0]; q.TokensSent != 128 || q.Finish != "length" {
		t.Errorf("recorded %+v", q)
	}
}

// TestSGLangRefusals: what is wrong in the body's form is a status. The rest is a status too, or the only event of a
// stream.
func TestSGLangRefusals(t *testing.T) {
	_, url := start(t, Options{Kind: SGLang, MaxModelLen: 8})
	for _, tc := range []struct{ body, want string }{
		{`{`, ""}, {`{"input_ids":"x"}`, ""}, {`{"input_ids":[-1]}`, ""},
		{`{"text":"Hi"`, "ids"}, {`{"sampling_params":{}`, "Either text, input_ids"}, {`{"input_ids":[]`, "cannot be empty"},
		{`{"input_ids":[1],"sampling_params":{"x":1}`, "unknown field"},
		{`{"input_ids":[1,2,3,4,5,6,7,8]`, "The input (8 tokens) is longer than the model's context length (8 tokens)."},
		{`{"input_ids":[1,2],"sampling_params":{"max_new_tokens":7}`, "You requested a total of 9 tokens"},
		{`{"input_ids":[1],"max_thinking_tokens":3`, "--enable-strict-thinking"},
		{`{"input_ids":[1],"sampling_params":{"max_new_tokens":1,"top_p":0}`, "top_p must be in"},
		{`{"input_ids":[1],"sampling_params":{"max_new_tokens":1,"temperature":-1}`, "temperature"},
		{`{"input_ids":[1],"sampling_params":{"max_new_tokens":1,"min_p":2}`, "min_p"},
		{`{"input_ids":[1],"sampling_params":{"max_new_tokens":1,"top_k":0}`, "top_k"},
		{`{"input_ids":[1],"sampling_params":{"max_new_tokens":1,"presence_penalty":3}`, "presence_penalty"},
		{`{"input_ids":[1],"sampling_params":{"max_new_tokens":1,"frequency_penalty":3}`, "frequency_penalty"},
		{`{"input_ids":[1],"sampling_params":{"max_new_tokens":1,"repetition_penalty":3}`, "repetition_penalty"},
		{`{"input_ids":[1],"sampling_params":{"max_new_tokens":1,"min_new_tokens":2}`, "min_new_tokens"},
		{`{"input_ids":[1],"sampling_params":{"max_new_tokens":1,"logit_bias":{"999999":1}}`, "logit_bias"},
		{`{"input_ids":[201088],"sampling_params":{"max_new_tokens":1}`, "out of vocabulary"},
		{`{"input_ids":[1],"sampling_params":{"max_new_tokens":1}`, "not well-formed Harmony"},
	} {
		if tc.want == "" {
			if status, got := ask(t, url+"/generate", tc.body); status != 400 || !strings.Contains(got, `"object":"error"`) {
				t.Errorf("%s: status %d: %s", tc.body, status, got)
			}
			continue
		}
		status, got := ask(t, url+"/generate", tc.body+"}")
		if status != 400 || !strings.HasPrefix(got, `{"error":{"message":"`) || !strings.Contains(got, tc.want) {
			t.Errorf("%s: status %d: %s", tc.body, status, got)
		}
		status, got = ask(t, url+"/generate", tc.body+`,"stream":true}`)
		if status != 200 || !strings.HasPrefix(got, `data: {"error":{"message":"`) || !strings.Contains(got, tc.want) ||
			!strings.HasSuffix(got, `"type":"invalid_request_error","code":400,"retryable":false}}`+"\n\ndata: [DONE]\n\n") {
			t.Errorf("%s, streamed: status %d: %s", tc.body, status, got)
		}
	}
}

func TestSGLangPages(t *testing.T) {
	_, url := start(t, Options{Kind: SGLang, APIKey: "k", MaxModelLen: 99})
	for path, want := range map[string]string{
		"/v1/models": `"owned_by":"sglang"`, "/health": "", "/metrics": `sglang:num_running_reqs{engine_type="unified",`,
		"/model_info": `"model_type":"gpt_oss"`, "/server_info": `"version":"` + SGLangVersion + `"`, "/ready": "",
	} {
		for _, key := range []string{"", "k"} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
			req.Header.Set("Authorization", "Bearer "+key)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			var body strings.Builder
			_ = resp.Write(&body)
			resp.Body.Close()
			open := path == "/health" || path == "/metrics"
			if wrong := key == "" && !open; wrong != (resp.StatusCode == 401) {
				t.Errorf("%s with key %q: status %d", path, key, resp.StatusCode)
			} else if !wrong && !strings.Contains(body.String(), want) {
				t.Errorf("%s: %s", path, body.String())
			}
		}
	}
}
