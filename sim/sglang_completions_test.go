package sim

import (
	"strconv"
	"strings"
	"testing"
)

func TestSGLangCompletions(t *testing.T) {
	n, m := len(encode(hello)), (len(encode(hello))-1)/16*16
	event := func(text, ids, prompt, finish, matched string) string {
		return `data: {"id":"r","object":"text_completion","created":0,"model":"any","choices":[{"index":0,"text":"` + text +
			`","logprobs":null,"finish_reason":` + finish + `,"matched_stop":` + matched + `,"token_ids":[` + ids + `]` +
			prompt +
			`}],"usage":null}` + "\n\n"
	}
	prompt := `,"prompt_token_ids":` + strings.ReplaceAll(idsOf(hello), " ", "")
	for _, tc := range []struct {
		fields  string
		details bool
		want    string
	}{
		{
			fields: `"skip_special_tokens":false,"no_stop_trim":true`,
			want: event("<|channel|>final", "200005,17196", prompt, "null", "null") +
				event("<|message|>Hello<|return|>", "200008,13225,200002", "", `"stop"`, "200002"),
		},
		{
			fields: `"stream_options":{"include_usage":true}`, details: true,
			want: event("final", "200005,17196", prompt, "null", "null") +
				event("Hello", "200008,13225,200002", "", `"stop"`, "200002") +
				`data: {"id":"r","object":"text_completion","created":0,"model":"any","choices":[],"usage":{"prompt_tokens":` +
				strconv.Itoa(n) + `,"total_tokens":` + strconv.Itoa(n+5) + `,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":0},` +
				`"reasoning_tokens":0}}` + "\n\n",
		},
		{fields: `"max_tokens":1`, want: event("", "200005", prompt, `"length"`, "null")},
	} {
		s, url := start(t, Options{Kind: SGLangCompletions, Script: sglangScript(), PromptTokensDetails: tc.details})
		body := `{"rid":"r","model":"any","prompt":` + idsOf(hello) + `,"return_token_ids":true,"unknown":1,` + tc.fields
		status, got := ask(t, url+"/v1/completions", body+`,"stream":true}`)
		got = created.ReplaceAllString(got, `"created":0`)
		if want := tc.want + "data: [DONE]\n\n"; status != 200 || got != want {
			t.Errorf("%s: status %d\ngot  %s\nwant %s", tc.fields, status, got, want)
		}
		if q := await(t, s, completed)[0]; q.ID != "r" || !q.Stream || len(q.PromptIDs) != n {
			t.Errorf("recorded %+v", q)
		}
		// The same prompt again is in the cache.
		_, got = ask(t, url+"/v1/completions", body[:len(body)-len(tc.fields)]+`"n":2,"logprobs":1}`)
		if strings.Contains(got, `"cached_tokens":`+strconv.Itoa(m)) != tc.details ||
			strings.Count(got, `"matched_stop":200002`) != 2 ||
			!strings.Contains(got, `"text_offset":[-1,`) ||
			!strings.HasSuffix(got, `,"metadata":{"weight_version":"default"}}`) {
			t.Errorf("whole: %s", got)
		}
	}
}

// TestSGLangCompletionsDefaults: without a limit an answer has 16 tokens, and ids come only if they are asked for.
func TestSGLangCompletionsDefaults(t *testing.T) {
	s, url := start(t, Options{Kind: SGLangCompletions, Script: NewScript(Line{Tokens: encode(strings.Repeat(" a", 30))})})
	_, got := ask(t, url+"/v1/completions", `{"prompt":`+idsOf(hello)+`,"n":2,"stream":true}`)
	if q := await(t, s, completed)[0]; q.TokensSent != 32 || q.Finish != "length" {
		t.Errorf("recorded %+v", q)
	}
	if strings.Contains(got, "token_ids") || !strings.Contains(got, `_1","object"`) ||
		strings.Contains(got, "usage\":{") ||
		!strings.Contains(got, `"model":"default"`) {
		t.Error(got)
	}
}

// TestSGLangCompletionsRefusals: every refusal is a status and flat, also of a stream.
func TestSGLangCompletionsRefusals(t *testing.T) {
	_, url := start(t, Options{Kind: SGLangCompletions, MaxModelLen: 8})
	for _, tc := range []struct{ fields, want string }{
		{``, "Field required"}, {`"prompt":"x","max_tokens":"1"`, "max_tokens"}, {`"prompt":[]`, "Prompt cannot be empty"},
		{`"prompt":[1],"max_tokens":0`, "max_tokens must be positive"}, {`"prompt":[-1]`, "greater than or equal to 0"},
		{`"prompt":[1,2,3,4,5,6,7,8]`, "longer than the model's context length"},
		{`"prompt":[1,2],"max_tokens":7`, "You requested a total of 9 tokens"},
		{`"prompt":[1],"max_tokens":1,"top_p":0`, "top_p must be in"}, {`"prompt":[1],"max_tokens":1,"top_k":0`, "top_k"},
		{`"prompt":[1],"max_tokens":1,"min_p":2`, "min_p"}, {`"prompt":[1],"max_tokens":1,"min_tokens":2`, "min_new_tokens"},
		{`"prompt":[1],"max_tokens":1,"echo":true`, "echo"},
		{`"prompt":[1],"max_tokens":1,"response_format":{"type":"json_object"}`, "structural tags only"},
		{`"prompt":[1],"max_tokens":1,"response_format":{"type":"structural_tag","format":{"type":"x"}}`,
			"Invalid structural"},
		{`"prompt":[1],"max_tokens":1`, "not well-formed Harmony"},
	} {
		for _, stream := range []string{"", `,"stream":true`} {
			status, got := ask(t, url+"/v1/completions", `{"model":"m"`+comma(tc.fields)+stream+"}")
			if status != 400 || !strings.HasPrefix(got, `{"object":"error","message":"`) || !strings.Contains(got, tc.want) {
				t.Errorf("%s: status %d: %s", tc.fields, status, got)
			}
		}
	}
	if status, got := ask(t, url+"/generate", `{}`); status != 404 || !strings.Contains(got, `"object":"error"`) {
		t.Errorf("/generate: status %d: %s", status, got)
	}
}

// comma returns members that follow others.
func comma(members string) string {
	if members == "" {
		return ""
	}
	return "," + members
}
