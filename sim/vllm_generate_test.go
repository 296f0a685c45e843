package sim

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// ask sends a request to a path and returns the status and the body.
func ask(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", "abc")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// idsOf returns the ids of a prompt as JSON.
func idsOf(prompt string) string {
	b, _ := json.Marshal(encode(prompt))
	return string(b)
}

func TestVLLMGenerate(t *testing.T) {
	s, url := start(t, Options{Kind: VLLMGenerate, Script: NewScript(Line{Match: "Hello", Tokens: []uint32{200005, 17196,
		200008, 13225, 200002}, Chunks: []int{2, 3}})})
	const stop = `"finish_reason":"stop","stop_reason":null,"token_ids":[200008,13225,200002],"routed_experts":null,` +
		`"sampling_mask":null,"weight_versions":null,"logprobs":null}]}`
	n := strconv.Itoa(len(encode(hello)))
	status, got := ask(t, url+"/inference/v1/generate",
		`{"token_ids":`+idsOf(hello)+`,"sampling_params":{},"stream":true,`+
			`"stream_options":{"include_usage":true}}`)
	want := `data: {"request_id":"generate-tokens-abc","usage":null,"output_mode":"tokens","choices":[{"index":0,` +
		`"finish_reason":null,"stop_reason":null,"token_ids":[200005,17196],"routed_experts":null,"sampling_mask":null,` +
		`"weight_versions":null,"logprobs":null}]}` + "\n\n" +
		`data: {"request_id":"generate-tokens-abc","usage":null,"output_mode":"tokens","choices":[{"index":0,` + stop +
		"\n\n" + `data: {"request_id":"generate-tokens-abc","usage":{"prompt_tokens":` + n + `,"total_tokens":` +
		strconv.Itoa(len(encode(hello))+5) + `,"completion_tokens":5},"output_mode":"tokens","choices":[]}` +
		"\n\ndata: [DONE]\n\n"
	if status != 200 || got != want {
		t.Errorf("status %d\ngot  %s\nwant %s", status, got, want)
	}
	status, got = ask(t, url+"/inference/v1/generate", `{"token_ids":`+idsOf(hello)+
		`,"sampling_params":{"max_tokens":1,"logprobs":2,"n":2,"detokenize":false}}`)
	if status != 200 || !strings.Contains(got, `"choices":[{"index":0,"finish_reason":"length","stop_reason":null,`+
		`"token_ids":[200005],"routed_experts":null,"sampling_mask":null,"weight_versions":null,"logprobs":{"content":`+
		`[{"token_id":200005,"logprob":-0.125,"rank":1,"top_logprobs":[{"token_id":200005,"logprob":-0.125,"rank":1},`+
		`{"token_id":`) || !strings.Contains(got, `{"index":1,`) {
		t.Errorf("status %d: %s", status, got)
	}
	q := await(t, s, completed)[0]
	if q.TokensSent != 5 || q.Finish != "stop" || q.ID != "generate-tokens-abc" || len(q.PromptIDs) != len(encode(hello)) {
		t.Errorf("recorded %+v", q)
	}
	if status, _ := ask(t, url+"/v1/completions", `{}`); status != 404 {
		t.Errorf("/v1/completions: status %d", status)
	}
}

func TestVLLMGenerateRefusals(t *testing.T) {
	_, url := start(t, Options{Kind: VLLMGenerate, MaxModelLen: 8})
	for name, tc := range map[string]struct{ body, want string }{
		"no ids":      {`{"sampling_params":{}}`, `body.token_ids`},
		"empty":       {`{"token_ids":[],"sampling_params":{}}`, `"code":400`},
		"text":        {`{"token_ids":"Hi","sampling_params":{}}`, `Input should be a valid list`},
		"negative":    {`{"token_ids":[-1],"sampling_params":{}}`, `greater than or equal to 0`},
		"no sampling": {`{"token_ids":[1]}`, `body.sampling_params`},
		"wrong type":  {`{"token_ids":[1],"sampling_params":{"max_tokens":"x"}}`, `body.sampling_params`},
		"vocabulary":  {`{"token_ids":[201088],"sampling_params":{}}`, `out of vocabulary`},
		"model":       {`{"token_ids":[1],"sampling_params":{},"model":"x"}`, `"code":404`},
		"stop":        {`{"token_ids":[1],"sampling_params":{"stop":"x","detokenize":false}}`, `stop strings`},
		"text mode":   {`{"token_ids":[1],"sampling_params":{},"output_mode":"text"}`, `tokens only`},
		"salt":        {`{"token_ids":[1],"sampling_params":{},"cache_salt":""}`, `cache_salt`},
		"long prompt": {`{"token_ids":[1,2,3,4,5,6,7,8,9],"sampling_params":{}}`,
			`longer than the maximum model length of 8`},
		"full context":  {`{"token_ids":[1,2,3,4,5,6,7,8],"sampling_params":{}}`, `plus the number of requested output`},
		"temperature":   {`{"token_ids":[1],"sampling_params":{"temperature":-1}}`, `temperature`},
		"not JSON":      {`{"token_ids"`, `JSON decode error`},
		"no harmony":    {`{"token_ids":[1],"sampling_params":{}}`, `not well-formed Harmony`},
		"unknown field": {`{"token_ids":[1],"sampling_params":{"x":1},"y":2}`, `not well-formed Harmony`},
	} {
		status, got := ask(t, url+"/inference/v1/generate", tc.body)
		if status < 400 || status > 404 || !strings.Contains(got, tc.want) {
			t.Errorf("%s: status %d: %s", name, status, got)
		}
	}
}

// TestVLLMGenerateStreamsRefusals has a prompt that is too long refused in the stream that was asked for, as vLLM 0.32.0
// does. What is wrong with the request itself is refused before.
func TestVLLMGenerateStreamsRefusals(t *testing.T) {
	_, url := start(t, Options{Kind: VLLMGenerate, MaxModelLen: 8})
	for ids, words := range map[string]string{
		"[1,2,3,4,5,6,7,8,9]": "The decoder prompt (length 9) is longer than the maximum model length of 8. ",
		"[1,2,3,4,5,6,7,8]":   "The decoder prompt (length 8) plus the number of requested output tokens (at least 1) is longer ",
	} {
		status, got := ask(t, url+"/inference/v1/generate", `{"token_ids":`+ids+`,"sampling_params":{},"stream":true}`)
		if status != 200 || !strings.HasPrefix(got, `data: {"error":{"message":"`+words) ||
			!strings.HasSuffix(got, `"type":"BadRequestError","param":null,"code":400}}`+"\n\ndata: [DONE]\n\n") {
			t.Errorf("%s: %d %s", ids, status, got)
		}
	}
	for _, body := range []string{`{"token_ids":"Hi","sampling_params":{},"stream":true}`,
		`{"token_ids":[1],"sampling_params":{"temperature":-1},"stream":true}`} {
		if status, got := ask(t, url+"/inference/v1/generate", body); status != 400 || strings.HasPrefix(got, "data: ") {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
}
