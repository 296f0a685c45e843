package sim

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	created = regexp.MustCompile(`"created":[0-9]+`)
	answers = regexp.MustCompile(`"id":"cmpl-[0-9a-f]{32}"`)
)

func TestTRTLLM(t *testing.T) {
	n := len(encode(hello))
	event := func(text, ids, finish, stop string) string {
		return `data: {"id":"cmpl-","object":"text_completion","created":0,"model":"any","choices":[{"index":0,"text":"` +
			text + `","token_ids":` + ids + `,"logprobs":null,"finish_reason":` + finish + `,"stop_reason":` + stop +
			`,"avg_decoded_tokens_per_iter":null}],"usage":null}` + "\n\n"
	}
	usage := func(tokens int) string {
		return `data: {"id":"cmpl-","object":"text_completion","created":0,"model":"any","choices":[],"usage":` +
			`{"prompt_tokens":` + strconv.Itoa(n) + `,"total_tokens":` + strconv.Itoa(n+tokens) + `,"completion_tokens":` + strconv.Itoa(tokens) +
			`,"prompt_tokens_details":{"cached_tokens":0}}}` + "\n\n"
	}
	call := NewScript(Line{Match: "Hello", Tokens: []uint32{200005, 17196, 200008, 13225, 200012}, Chunks: []int{2, 3}})
	for _, tc := range []struct {
		script       *Script
		fields, want string
	}{
		{
			sglangScript(), `"detokenize":false,"include_stop_str_in_output":true,"stream_options":{}`,
			event("", "[200005,17196]", "null", "null") + event("", "[200008,13225,200002]", `"stop"`, "null") + usage(5),
		},
		{
			call, `"detokenize":false`,
			event("", "[200005,17196]", "null", "null") + event("", "[200008,13225]", `"stop"`, "200012"),
		},
		{
			call, `"detokenize":false,"include_stop_str_in_output":true`,
			event("", "[200005,17196]", "null", "null") + event("", "[200008,13225,200012]", `"stop"`, "200012"),
		},
		{
			call, `"skip_special_tokens":false,"stream_options":{"include_usage":false}`,
			event("<|channel|>final", "null", "null", "null") + event("<|message|>Hello", "null", `"stop"`, "200012"),
		},
		{call, `"max_tokens":1`, event("", "null", `"length"`, "null")},
	} {
		s, url := start(t, Options{Kind: TRTLLM, Script: tc.script})
		body := `{"model":"any","prompt":` + idsOf(hello) + `,` + tc.fields
		status, got := ask(t, url+"/v1/completions", body+`,"stream":true}`)
		got = answers.ReplaceAllString(created.ReplaceAllString(got, `"created":0`), `"id":"cmpl-"`)
		if want := tc.want + "data: [DONE]\n\n"; status != 200 || got != want {
			t.Errorf("%s: status %d\ngot  %s\nwant %s", tc.fields, status, got, want)
		}
		if q := await(t, s, completed)[0]; !q.Stream || len(q.PromptIDs) != n {
			t.Errorf("recorded %+v", q)
		}
	}
	_, url := start(t, Options{Kind: TRTLLM, Script: call})
	if status, got := ask(t, url+"/v1/completions",
		`{"model":"m","prompt":`+idsOf(hello)+`,"logprobs":1}`); status != 200 ||
		!strings.Contains(got, `"text":"finalHello"`) || !strings.Contains(got, `"token_logprobs":[-0.125,`) ||
		!strings.Contains(got, `"prompt_tokens_details":{"cached_tokens":`) {
		t.Errorf("whole: status %d: %s", status, got)
	}
}

// TestTRTLLMContext: an answer may be as long as the context, whatever the request says.
func TestTRTLLMContext(t *testing.T) {
	for _, limit := range []string{``, `,"max_tokens":1000000`} {
		s, url := start(t, Options{Kind: TRTLLM, MaxModelLen: len(encode(hello)) + 40,
			Script: NewScript(Line{Tokens: encode(strings.Repeat(" a", 100))})})
		ask(t, url+"/v1/completions", `{"model":"m","prompt":`+idsOf(hello)+limit+`,"stream":true}`)
		if q := await(t, s, completed)[0]; q.TokensSent != 40 || q.Finish != "length" {
			t.Errorf("%s: recorded %+v", limit, q)
		}
	}
}

// TestTRTLLMRefusals: what is wrong in the body's form has FastAPI's error, the rest a flat one.
func TestTRTLLMRefusals(t *testing.T) {
	_, url := start(t, Options{Kind: TRTLLM, MaxModelLen: 8})
	for _, tc := range []struct{ fields, want string }{
		{`"prompt":[1],"return_token_ids":true`, `unknown field \"return_token_ids\"`},
		{`"prompt":[1],"cache_salt":"s"`, "unknown field"}, {`"prompt":[1],"request_id":"r"`, "unknown field"},
		{`"prompt":[1],"structured_outputs":{}`, "unknown field"},
		{`"prompt":[1],"stream_options":{"x":true}`, "unknown field"}, {`"max_tokens":1`, "Field required"},
		{`"prompt":[1],"priority":2`, "less than or equal to 1"}, {`"prompt":[1],"suffix":"x"`, "suffix is not supported"},
		{`"prompt":[1],"stream_options":{"include_usage":true}`, "Stream options"},
		{`"prompt":[1],"response_format":{"type":"structural_tag","format":{"type":"x"}}`, "Invalid structural"},
	} {
		status, got := ask(t, url+"/v1/completions", `{"model":"m",`+tc.fields+"}")
		if status != 400 || !strings.HasPrefix(got, `{"error":"`) || !strings.Contains(got, tc.want) {
			t.Errorf("%s: status %d: %s", tc.fields, status, got)
		}
	}
	for _, tc := range []struct{ fields, want string }{
		{`"prompt":[1],"top_k":-1`, "top_k"}, {`"prompt":[1],"temperature":-1`, "temperature"},
		{`"prompt":[1],"top_p":2`, "top_p"}, {`"prompt":[1],"min_p":2`, "min_p"},
		{`"prompt":[1],"repetition_penalty":0`, "repetition_penalty"}, {`"prompt":[1],"n":2`, "one choice"},
		{`"prompt":[1],"logit_bias":{"5":101}`, "[-100, 100]"}, {`"prompt":[1],"logit_bias":{"999999":1}`, "999999"},
		{`"prompt":[201088]`, "out of vocabulary"},
	} {
		status, got := ask(t, url+"/v1/completions", `{"model":"m","stream":true,`+tc.fields+"}")
		if status != 400 || !strings.HasPrefix(got, `{"object":"error","message":"`) || !strings.Contains(got, tc.want) {
			t.Errorf("%s: status %d: %s", tc.fields, status, got)
		}
	}
	// A refusal of the engine's own process comes in a stream that has begun.
	for _, tc := range []struct{ fields, want string }{
		{`"prompt":[1,2,3,4,5,6,7,8]`, "`default_max_tokens` (0) must be greater than 0"},
		{`"prompt":[1],"max_tokens":0`, "`max_tokens` (0) must be greater than 0"},
		{`"prompt":[1]`, "not well-formed Harmony"},
	} {
		status, got := ask(t, url+"/v1/completions", `{"model":"m",`+tc.fields+"}")
		if status != 400 || !strings.HasPrefix(got, `{"object":"error","message":"`) || !strings.Contains(got, tc.want) {
			t.Errorf("%s: status %d: %s", tc.fields, status, got)
		}
		status, got = ask(t, url+"/v1/completions", `{"model":"m","stream":true,`+tc.fields+"}")
		if status != 200 || !strings.HasPrefix(got, `data: {"error":{"message":"`) || !strings.Contains(got, tc.want) ||
			!strings.HasSuffix(got, `","type":"server_error","code":null,"param":null}}`+"\n\ndata: [DONE]\n\n") {
			t.Errorf("%s, streamed: status %d: %s", tc.fields, status, got)
		}
	}
}

func TestTRTLLMPages(t *testing.T) {
	_, url := start(t, Options{Kind: TRTLLM})
	for path, want := range map[string]string{
		"/v1/models": `"owned_by":"tensorrt_llm"`, "/health": "", "/version": TRTLLMVersion,
		"/metrics": `[{"iter":1,"kvCacheStats":{`, "/prometheus/metrics": "trtllm_num_requests_running{",
	} {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		var body strings.Builder
		_ = resp.Write(&body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(body.String(), want) {
			t.Errorf("%s: %s", path, body.String())
		}
	}
}
