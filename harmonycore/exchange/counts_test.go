package exchange

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// counted is the reply to a request that no server sees.
func counted(t *testing.T, g *Gateway, path, body string) (int, map[string]any) {
	t.Helper()
	x := g.Begin("POST", path)
	if x == nil {
		t.Fatalf("the gateway does not take %s", path)
	}
	a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
	if a.Reply == nil {
		t.Fatalf("%s: %+v", path, a)
	}
	var object map[string]any
	if err := json.Unmarshal(a.Reply.Body, &object); err != nil {
		t.Fatalf("%s: %v", a.Reply.Body, err)
	}
	return a.Reply.Status, object
}

func tokensOf(object map[string]any) []uint32 {
	var ids []uint32
	list, _ := object["tokens"].([]any)
	for _, v := range list {
		ids = append(ids, uint32(v.(float64)))
	}
	return ids
}

// TestTokenizeRoundTrip: text, tokens and text again, with the characters that lie in several tokens.
func TestTokenizeRoundTrip(t *testing.T) {
	g := testGateway(nil)
	for _, text := range []string{"", "Hi", "<|start|>user<|message|>Grüße, 世界! 🙂<|end|>", "\x00\u2028\"\\",
		"<|reserved_200013|>"} {
		quoted, _ := json.Marshal(text)
		status, object := counted(t, g, "/tokenize", `{"model":"gpt-oss-120b","return_token_strs":true,"prompt":`+
			string(quoted)+`}`)
		want := o200k.Tokenizer().AppendEncodeSpecial(nil, text)
		if status != 200 || !slices.Equal(tokensOf(object), want) || object["count"] != float64(len(want)) ||
			object["max_model_len"] != 4096.0 || len(object["token_strs"].([]any)) != len(want) {
			t.Fatalf("%q: %d %v", text, status, object)
		}
		ids, _ := json.Marshal(object["tokens"])
		body := `{"model":"gpt-oss-120b","tokens":` + string(ids) + `}`
		if status, object := counted(t, g, "/detokenize", body); status != 200 ||
			object["prompt"] != text {
			t.Errorf("%q came back as %d %v", text, status, object)
		}
	}
	_, object := counted(t, g, "/detokenize", `{"model":"gpt-oss-120b","tokens":[9552]}`)
	if !strings.Contains(object["prompt"].(string), "\ufffd") {
		t.Errorf("half a character is %q", object["prompt"])
	}
}

func TestCountRefused(t *testing.T) {
	g := testGateway(nil)
	for _, tt := range []struct{ path, body, param, code string }{
		{"/tokenize", `{"model":"gpt-oss-120b"}`, "prompt", "missing_required_parameter"},
		{"/tokenize", `{"model":"gpt-oss-120b","prompt":1}`, "prompt", "invalid_type"},
		{
			"/tokenize", `{"model":"gpt-oss-120b","prompt":"` + strings.Repeat("a ", 5000) + `"}`, "prompt",
			"context_length_exceeded",
		},
		{"/tokenize", `{"model":"gpt-oss-120b","messages":[{"role":"x","content":""}]}`, "messages[0].role", "unknown_role"},
		{"/detokenize", `{"model":"gpt-oss-120b"}`, "tokens", "missing_required_parameter"},
		{"/detokenize", `{"model":"gpt-oss-120b","tokens":[-1]}`, "tokens[0]", "invalid_value"},
		{"/detokenize", `{"model":"gpt-oss-120b","tokens":[4294967295]}`, "tokens", "invalid_value"},
		{"/detokenize", `{"model":"gpt-oss-120b","tokens":[` + strings.Repeat("1,", 4096) + `1]}`, "tokens", "invalid_value"},
		{"/v1/responses/input_tokens", `{"model":"gpt-oss-120b"}`, "input", "missing_required_parameter"},
		{"/v1/responses/input_tokens", `{"model":"gpt-5","input":"Hi"}`, "model", "model_not_found"},
	} {
		status, object := counted(t, g, tt.path, tt.body)
		e, _ := object["error"].(map[string]any)
		if status < 400 || e["param"] != tt.param || e["code"] != tt.code {
			t.Errorf("%s %.60s: %d %v", tt.path, tt.body, status, object)
		}
	}
}

// TestInputTokens: a prompt is counted exactly up to the whole context, of which a request would have to leave a token
// for the answer; a longer one is not counted at all.
func TestInputTokens(t *testing.T) {
	request := func(context, words int) (int, map[string]any) {
		g := testGateway(func(o *Options) { o.Models[0].ContextLength = context })
		return counted(t, g, "/v1/responses/input_tokens",
			`{"model":"gpt-oss-120b","input":"`+strings.Repeat("a ", words)+`"}`)
	}
	status, object := request(1<<20, 5000)
	n, _ := object["input_tokens"].(float64)
	if status != 200 || object["object"] != "response.input_tokens" || n < 5000 {
		t.Fatalf("%d %v", status, object)
	}
	if status, object := request(int(n), 5000); status != 200 || object["input_tokens"] != n {
		t.Errorf("of a context as long as the prompt: %d %v", status, object)
	}
	for _, words := range []int{5000, 50_000} {
		status, object := request(int(n)-1, words)
		e, _ := object["error"].(map[string]any)
		if status != 400 || e["code"] != "context_length_exceeded" || e["param"] != "input" {
			t.Errorf("over the context: %d %v", status, object)
		}
	}
}

// TestTokenizeWithoutGeneration: without the header at which the model goes on, a conversation may fill the whole
// context.
func TestTokenizeWithoutGeneration(t *testing.T) {
	messages := `"messages":[{"role":"user","content":"` + strings.Repeat("a ", 500) + `"}]`
	request := func(context int, more string) (int, map[string]any) {
		g := testGateway(func(o *Options) { o.Models[0].ContextLength = context })
		return counted(t, g, "/tokenize", `{"model":"gpt-oss-120b",`+messages+more+`}`)
	}
	_, with := request(4096, "")
	_, without := request(4096, `,"add_generation_prompt":false`)
	all, fewer := tokensOf(with), tokensOf(without)
	if len(all) != len(fewer)+2 || !slices.Equal(all[:len(fewer)], fewer) {
		t.Fatalf("%d tokens with the header, %d without", len(all), len(fewer))
	}
	for _, tt := range []struct {
		context int
		more    string
		want    int
	}{
		{len(all), "", 200}, {len(all) - 1, "", 400},
		{len(fewer), `,"add_generation_prompt":false`, 200}, {len(fewer) - 1, `,"add_generation_prompt":false`, 400},
	} {
		if status, object := request(tt.context, tt.more); status != tt.want {
			t.Errorf("a context of %d%s: %d %v", tt.context, tt.more, status, object)
		}
	}
}

// TestCountingStops: of a prompt that does not fit, no more is made than fits, whatever asks for it.
func TestCountingStops(t *testing.T) {
	const context = 1000
	g := testGateway(func(o *Options) { o.Models[0].ContextLength = context })
	word, model := strings.Repeat("zqjxkvbp", 120_000), `{"model":"`+testModel+`",`
	turn := `{"role":"user","content":"` + word[:5000] + `"}`
	for _, tt := range []struct{ path, body, code string }{
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"` + word + `"}]}`, "context_length_exceeded"},
		{"/v1/chat/completions", `"messages":[` + strings.Repeat(turn+",", 200) + turn + `]}`, "context_length_exceeded"},
		{"/v1/responses", `"instructions":"` + word + `","input":"Hi"}`, "context_length_exceeded"},
		{
			"/v1/responses", `"truncation":"auto","input":[` + turn + `,{"role":"user","content":"` + word + `"}]}`,
			"context_length_exceeded",
		},
		{
			"/v1/responses", `"truncation":"auto","input":[{"role":"user","content":"` + word +
				`"},{"role":"user","content":"Hi"}]}`, "",
		},
		{"/v1/responses/input_tokens", `"input":"` + word + `"}`, "context_length_exceeded"},
		{"/tokenize", `"prompt":"` + word + `"}`, "context_length_exceeded"},
		{"/tokenize", `"prompt":"` + strings.Repeat("<|end|>", 100_000) + `"}`, "context_length_exceeded"},
	} {
		var s Scratch
		a := g.Begin("POST", tt.path).Request([]byte(model+tt.body), Host{Now: testNow, ID: testID, Scratch: &s})
		if (a.Reply == nil) != (tt.code == "") || a.Reply != nil &&
			!strings.Contains(string(a.Reply.Body), `"code":"`+tt.code+`"`) {
			t.Errorf("%s %.60s: %+v", tt.path, tt.body, a.Reply)
		}
		if n := cap(s.prompt); n > 5*context {
			t.Errorf("%s %.60s: room for %d tokens, of which %d fit", tt.path, tt.body, n, context)
		}
	}
}

// TestCountsWithoutModel: where there is one model and no other server, a request need not name it. Where there are
// two, or a name of another type, it is refused as everywhere.
func TestCountsWithoutModel(t *testing.T) {
	second := func(o *Options) {
		o.Models = append(o.Models, o.Models[0])
		o.Models[1].Name = "second"
	}
	for _, tt := range []struct {
		change           func(*Options)
		path, body, want string // want begins the answer
	}{
		{nil, "/tokenize", `{"prompt":"Hi"}`, `{"count":1,`},
		{nil, "/tokenize", `{"prompt":"Hi","model":null}`, `{"count":1,`},
		{nil, "/tokenize", `{"prompt":"Hi","model":""}`, `{"count":1,`},
		{nil, "/detokenize", `{"tokens":[12194]}`, `{"prompt":"Hi"}`},
		{nil, "/v1/responses/input_tokens", `{"input":"Hi"}`, `{"object":"response.input_tokens"`},
		{nil, "/tokenize", `{"prompt":"Hi","model":7}`, `{"error":{"message":"Invalid type for 'model'`},
		{nil, "/tokenize", `{"prompt":"Hi","model":"other"}`, `{"error":{"message":"The model 'other' does not exist`},
		{second, "/tokenize", `{"prompt":"Hi"}`, `{"error":{"message":"Missing required parameter: 'model'`},
		{second, "/detokenize", `{"tokens":[1]}`, `{"error":{"message":"Missing required parameter: 'model'`},
		{nil, "/v1/chat/completions", `{"messages":[]}`, `{"error":{"message":"Missing required parameter: 'model'`},
		{nil, "/v1/responses", `{"input":"Hi"}`, `{"error":{"message":"Missing required parameter: 'model'`},
	} {
		a := testGateway(tt.change).Begin("POST", tt.path).Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		if a.Reply == nil || !strings.HasPrefix(string(a.Reply.Body), tt.want) {
			t.Errorf("%s %s: got %+v, want %s", tt.path, tt.body, a, tt.want)
		}
	}
	passthrough := testGateway(func(o *Options) { o.Passthrough = true })
	a := passthrough.Begin("POST", "/tokenize").Request([]byte(`{"prompt":"Hi"}`), Host{Now: testNow, ID: testID})
	if a.Reply != nil || a.Hold || a.Full {
		t.Errorf("with another server: got %+v", a)
	}
	a = conversing(nil).Begin("POST", "/tokenize").Request([]byte(`{"prompt":"Hi"}`), Host{Now: testNow, ID: testID})
	if a.Forward == nil || !strings.Contains(string(a.Forward.Body), `"model":"Qwen`) {
		t.Errorf("a server of conversations: got %+v", a)
	}
}

// TestTokenizerInfo: the context is the smallest of the Harmony models', and there is nothing to say of others.
func TestTokenizerInfo(t *testing.T) {
	for _, tt := range []struct {
		change func(*Options)
		want   string
	}{
		{nil, `"model_max_length":4096,`},
		{func(o *Options) {
			o.Models = append(o.Models, o.Models[0])
			o.Models[1].Name, o.Models[1].ContextLength = "second", 100
		}, `"model_max_length":100,`},
		{func(o *Options) { o.Models[0].Server = contract.Chat }, `"code":"unknown_url"`},
	} {
		a := testGateway(tt.change).Begin("GET", "/tokenizer_info").Request(nil, Host{Now: testNow, ID: testID})
		if a.Reply == nil || !strings.Contains(string(a.Reply.Body), tt.want) {
			t.Errorf("got %+v, want %s", a, tt.want)
		}
	}
}
