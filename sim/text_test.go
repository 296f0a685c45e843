package sim

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/sim/server"
)

// said is an answer with reasoning.
var said = NewScript(Line{Match: "Hello", Tokens: []uint32{200005, 17196, 200008, 13225, 200002}})

// TestText checks that a server of text reads control tokens in the prompt, hides them in the answer or prints them,
// and refuses what OpenAI's API does not have.
func TestText(t *testing.T) {
	prompt := `"prompt":` + string(server.MustJSON(hello))
	for _, tt := range []struct {
		prints bool
		body   string
		status int
		want   string
	}{
		{false, `{` + prompt + `,"max_tokens":9}`, 200, `"text":"finalHello"`},
		{true, `{` + prompt + `,"max_tokens":9}`, 200, `"text":"<|channel|>final<|message|>Hello"`},
		{true, `{` + prompt + `,"stream":true}`, 200, `"choices":[{"text":"<|channel|>","index":0,"logprobs":null,` +
			`"finish_reason":null}],"model":"gpt-oss-120b"}`},
		{false, `{` + prompt + `,"skip_special_tokens":false}`, 400,
			`"Unrecognized request argument supplied: skip_special_tokens"`},
		{false, `{` + prompt + `,"stop":["a","b","c","d","e"]}`, 400, `'stop' has more than 4 strings`},
		{false, `{` + prompt + `,"max_tokens":0}`, 400, `max_tokens must be at least 1`},
		{false, `[]`, 400, `"error"`},
		// The word is not in the answer. A vLLM holds back as much of the answer as the word has; others do not.
		{false, `{` + prompt + `,"stream":true,"stop":"Goodbye"}`, 200, `"text":"lHello","index":0,` +
			`"logprobs":null,"finish_reason":"stop"`},
		{true, `{` + prompt + `,"stream":true,"stop":"Goodbye"}`, 200, `"text":"Hello","index":0`},
		{true, `{` + prompt + `,"stream":true,"stop":["lo!","Goodbye"]}`, 200, `"text":"Hel","index":0`},
		{true, `{` + prompt + `,"stream":true,"stop":["lo!","Goodbye"]}`, 200, `"text":"lo","index":0,"logprobs":null,` +
			`"finish_reason":"stop"`},
	} {
		_, url := start(t, Options{Kind: Text, PrintSpecials: tt.prints, Script: said})
		if status, got := ask(t, url+"/v1/completions", tt.body); status != tt.status || !strings.Contains(got, tt.want) {
			t.Errorf("%s: status %d\n%s\nwant %s", tt.body, status, got, tt.want)
		}
	}
}

// TestVLLMLegacy checks that an old vLLM ignores what came later, and names no parameter.
func TestVLLMLegacy(t *testing.T) {
	_, url := start(t, Options{Kind: VLLMLegacy, Script: said, MaxModelLen: 200})
	ids := `"prompt":` + idsOf(hello)
	for _, tt := range []struct {
		body   string
		status int
		want   string
	}{
		{`{` + ids + `,"stream":true,"return_token_ids":true,"structured_outputs":7,"thinking_token_budget":"x"}`, 200,
			`"choices":[{"index":0,"text":"","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":null}`},
		{`{` + ids + `,"stream":true,"logprobs":0,"return_tokens_as_token_ids":true}`, 200,
			`"tokens":["token_id:200005"],"top_logprobs":[{"token_id:200005":-0.125}]}`},
		{`{` + ids + `,"max_tokens":190}`, 400, `"message":"'max_tokens' or 'max_completion_tokens' is too large: 190. ` +
			`This model's maximum context length is 200 tokens`},
		{`{` + ids + `,"max_tokens":190}`, 400, `"param":null`},
		{`{"prompt":[` + strings.Repeat("1,", 300) + `1]}`, 400, `However, your request has 301 input tokens.`},
		{`{` + ids + `,"max_tokens":0}`, 400, `max_tokens must be at least 1, got 0.`},
	} {
		if status, got := ask(t, url+"/v1/completions", tt.body); status != tt.status || !strings.Contains(got, tt.want) {
			t.Errorf("%s: status %d\n%s\nwant %s", tt.body, status, got, tt.want)
		}
	}
}
