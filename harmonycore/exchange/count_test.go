package exchange

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// counted is the reply to a request that no server sees.
func counted(t *testing.T, g *Gateway, path, body string) (int, map[string]any) {
	t.Helper()
	x := g.Begin("POST", path)
	if x == nil {
		t.Fatalf("%s is none of ours", path)
	}
	a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
	if a.Reply == nil {
		t.Fatalf("%s: %+v", path, a)
	}
	var said map[string]any
	if err := json.Unmarshal(a.Reply.Body, &said); err != nil {
		t.Fatalf("%s: %v", a.Reply.Body, err)
	}
	return a.Reply.Status, said
}

func tokensOf(said map[string]any) []uint32 {
	var ids []uint32
	list, _ := said["tokens"].([]any)
	for _, v := range list {
		ids = append(ids, uint32(v.(float64)))
	}
	return ids
}

// TestTokenizeRoundTrip: text, tokens and text again, with the characters that lie in several tokens.
func TestTokenizeRoundTrip(t *testing.T) {
	g := testGateway(nil)
	for _, text := range []string{"", "Hi", "<|start|>user<|message|>Grüße, 世界! 🙂<|end|>", "\x00\u2028\"\\", "<|reserved_200013|>"} {
		quoted, _ := json.Marshal(text)
		status, said := counted(t, g, "/tokenize", `{"model":"gpt-oss-120b","return_token_strs":true,"prompt":`+string(quoted)+`}`)
		want := o200k.Tokenizer().AppendEncodeSpecial(nil, text)
		if status != 200 || !slices.Equal(tokensOf(said), want) || said["count"] != float64(len(want)) || said["max_model_len"] != 4096.0 || len(said["token_strs"].([]any)) != len(want) {
			t.Fatalf("%q: %d %v", text, status, said)
		}
		ids, _ := json.Marshal(said["tokens"])
		if status, said := counted(t, g, "/detokenize", `{"model":"gpt-oss-120b","tokens":`+string(ids)+`}`); status != 200 || said["prompt"] != text {
			t.Errorf("%q came back as %d %v", text, status, said)
		}
	}
	if _, said := counted(t, g, "/detokenize", `{"model":"gpt-oss-120b","tokens":[9552]}`); !strings.Contains(said["prompt"].(string), "\ufffd") {
		t.Errorf("half a character is %q", said["prompt"])
	}
}

func TestCountRefused(t *testing.T) {
	g := testGateway(nil)
	for _, tt := range []struct{ path, body, param, code string }{
		{"/tokenize", `{"model":"gpt-oss-120b"}`, "prompt", "missing_required_parameter"},
		{"/tokenize", `{"model":"gpt-oss-120b","prompt":1}`, "prompt", "invalid_type"},
		{"/tokenize", `{"model":"gpt-oss-120b","prompt":"` + strings.Repeat("a ", 5000) + `"}`, "prompt", "context_length_exceeded"},
		{"/tokenize", `{"model":"gpt-oss-120b","messages":[{"role":"x","content":""}]}`, "messages[0].role", "unknown_role"},
		{"/detokenize", `{"model":"gpt-oss-120b"}`, "tokens", "missing_required_parameter"},
		{"/detokenize", `{"model":"gpt-oss-120b","tokens":[-1]}`, "tokens[0]", "invalid_value"},
		{"/detokenize", `{"model":"gpt-oss-120b","tokens":[4294967295]}`, "tokens", "invalid_value"},
		{"/detokenize", `{"model":"gpt-oss-120b","tokens":[` + strings.Repeat("1,", 4096) + `1]}`, "tokens", "invalid_value"},
		{"/v1/responses/input_tokens", `{"model":"gpt-oss-120b"}`, "input", "missing_required_parameter"},
		{"/v1/responses/input_tokens", `{"model":"gpt-5","input":"Hi"}`, "model", "model_not_found"},
	} {
		status, said := counted(t, g, tt.path, tt.body)
		e, _ := said["error"].(map[string]any)
		if status < 400 || e["param"] != tt.param || e["code"] != tt.code {
			t.Errorf("%s %.60s: %d %v", tt.path, tt.body, status, said)
		}
	}
}

// TestInputTokens: a prompt that is longer than the context is counted all the same.
func TestInputTokens(t *testing.T) {
	g := testGateway(nil)
	body := `{"model":"gpt-oss-120b","input":"` + strings.Repeat("a ", 5000) + `"}`
	if status, said := counted(t, g, "/v1/responses/input_tokens", body); status != 200 || said["object"] != "response.input_tokens" || said["input_tokens"].(float64) < 5000 {
		t.Errorf("%d %v", status, said)
	}
}
