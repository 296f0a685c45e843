package exchange

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func TestBegin(t *testing.T) {
	g := testGateway(nil)
	for _, tt := range []struct {
		method, path string
		taken        bool
	}{
		{"POST", "/v1/chat/completions", true}, {"POST", "/v1/responses?x=1", true}, {"POST", "/v1/completions", true},
		{"POST", "/generate", true}, {"POST", "/completion", true}, {"POST", "/inference/v1/generate", true},
		{"GET", "/v1/responses/", false}, {"OPTIONS", "/v1/chat/completions", false}, {"POST", "/v1/embeddings", false},
		{"POST", "/v1/chat/completions/", true}, {"POST", "/v1/chat/completionsx", false}, {"POST", "", false},
	} {
		if taken := g.Begin(tt.method, tt.path) != nil; taken != tt.taken {
			t.Errorf("%s %s: ours = %v", tt.method, tt.path, taken)
		}
	}
}

func TestForward(t *testing.T) {
	x := testGateway(nil).Begin("POST", "/v1/chat/completions")
	a := x.Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID})
	if a.Forward == nil || a.Forward.Path != "/v1/completions" || a.Forward.Pool != "pool-1" {
		t.Fatalf("got %+v", a)
	}
	var sent struct {
		Model     string
		Prompt    []uint32
		MaxTokens int   `json:"max_tokens"`
		Stop      []int `json:"stop_token_ids"`
		Stream    bool
	}
	if err := json.Unmarshal(a.Forward.Body, &sent); err != nil {
		t.Fatal(err)
	}
	prompt := o200k.Tokenizer().DecodeString(sent.Prompt)
	if !strings.Contains(prompt, "Current date: 2026-01-02") ||
		!strings.HasSuffix(prompt, "<|start|>user<|message|>Hi<|end|><|start|>assistant") {
		t.Errorf("prompt %q", prompt)
	}
	if sent.Model != "openai/gpt-oss" || sent.MaxTokens != 4096-len(sent.Prompt) || !sent.Stream || len(sent.Stop) != 2 {
		t.Errorf("got %+v", sent)
	}
}

func TestRefusals(t *testing.T) {
	small := func(o *Options) { o.BodyLimit = 10 }
	short := func(o *Options) { o.Models[0].ContextLength = 20 }
	passthrough := func(o *Options) { o.Passthrough = true }
	allowed := func(o *Options) { o.Models[0].RawPrompts = contract.RawPromptsAllow }
	raw := `{"model":"` + testModel + `","prompt":"x"}`
	for _, tt := range []struct {
		name, path, body string
		change           func(*Options)
		status           int // 0: forwarded or left alone
		code             string
	}{
		{"too large", "/v1/responses", `{"model":"m"      }`, small, 413, "request_too_large"},
		{"context", "/v1/chat/completions", chatBody(false), short, 400, "context_length_exceeded"},
		{"no JSON", "/v1/chat/completions", `{`, nil, 400, "invalid_json"},
		{"empty", "/v1/chat/completions", ``, nil, 400, "invalid_json"},
		{"no model", "/v1/responses", `{"input":"x"}`, passthrough, 400, "missing_required_parameter"},
		{"other model", "/v1/responses", `{"model":"x","input":"x"}`, nil, 404, "model_not_found"},
		{"other model passes", "/v1/responses", `{"model":"x","input":"x"}`, passthrough, 0, ""},
		{"raw", "/v1/completions", raw, passthrough, 403, "raw_prompt_not_allowed"},
		{"raw, other path", "/generate", raw, allowed, 403, "raw_prompt_not_allowed"},
		{"raw, allowed", "/v1/completions", raw, allowed, 0, ""},
		{"raw, other model", "/v1/completions", `{"model":"x","prompt":"x"}`, nil, 404, "model_not_found"},
		{"raw, other model passes", "/v1/completions", `{"model":"x","prompt":"x"}`, passthrough, 0, ""},
		{"raw, no model", "/generate", `{"input_ids":[1]}`, nil, 0, ""},
		{"raw, a model that is not UTF-8", "/generate", `{"model":"\ud800","prompt":"x"}`, passthrough, 400, "invalid_utf8"},
		{
			"raw, a deep model", "/generate", `{"prompt":"x","model":` + strings.Repeat("[", 200), passthrough, 400,
			"max_depth_exceeded",
		},
		{"raw, unreadable", "/generate", `{"model":"` + testModel + `","prompt":"\ud800"}`, passthrough, 400, "invalid_utf8"},
	} {
		a := testGateway(tt.change).Begin("POST", tt.path).Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		if tt.status == 0 {
			if a.Reply != nil {
				t.Errorf("%s: %d %s", tt.name, a.Reply.Status, a.Reply.Body)
			}
			continue
		}
		if a.Reply == nil || a.Reply.Status != tt.status || !strings.Contains(string(a.Reply.Body), `"code":"`+tt.code+`"`) {
			t.Errorf("%s: got %+v", tt.name, a.Reply)
		}
	}
}

// TestFull checks that a request that was not admitted can be asked again, or be refused.
func TestFull(t *testing.T) {
	x := testGateway(nil).Begin("POST", "/v1/chat/completions")
	body, full := []byte(chatBody(true)), Host{Now: testNow, ID: testID, Admit: func(int) bool { return false }}
	for range 2 {
		if a := x.Request(body, full); !a.Full || a.Reply != nil || a.Forward != nil || x.PassesThrough() {
			t.Fatalf("got %+v", a)
		}
	}
	want := testGateway(nil).Begin("POST", "/v1/chat/completions").Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID})
	if a := x.Request(body, Host{Now: testNow, ID: testID}); a.Full || a.Forward == nil || string(a.Forward.Body) != string(want.Forward.Body) {
		t.Errorf("got %+v, not %+v", a, want)
	}
	x = testGateway(nil).Begin("POST", "/v1/chat/completions")
	x.Request(body, full)
	if r := x.Overloaded(); r.Status != 429 || r.RetryAfter != "1" || !x.PassesThrough() ||
		!strings.Contains(string(r.Body), `"code":"gateway_overloaded"`) {
		t.Errorf("got %+v", r)
	}
	x = testGateway(func(o *Options) { o.Passthrough = true }).Begin("POST", "/v1/chat/completions")
	if a := x.Request([]byte(`{"model":"x"}`), Host{Now: testNow, ID: testID,
		Admit: func(int) bool { return false }}); a.Reply != nil {
		t.Errorf("a request that the gateway does not take: %+v", a.Reply)
	}
}

// The proxy-wasm SDK's strings lie in the memory that the host reads into, which a large body overwrites.
func TestHostStringsAreNotKept(t *testing.T) {
	memory := []byte("/v1/completions?" + strings.Repeat("q", 40))
	x := testGateway(nil).Begin("POST", unsafe.String(&memory[0], len(memory)))
	body := `{"model":"unknown","prompt":"x"}`
	copy(memory, body)
	if a := x.Request([]byte(body), Host{Now: testNow, ID: testID}); a.Reply == nil || a.Reply.Status != 404 {
		t.Errorf("got %+v", a)
	}
	memory = []byte("120")
	x = forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	x.ResponseHeaders(ResponseHead{Status: 503, RetryAfter: unsafe.String(&memory[0], len(memory))})
	copy(memory, "abc")
	x.ResponseBody([]byte("x"), false)
	if a := x.ResponseTrailers(); a.Reply == nil || a.Reply.RetryAfter != "120" {
		t.Errorf("got %+v", a.Reply)
	}
}

func TestClipKeepsCharactersWhole(t *testing.T) {
	if got := clip("a" + strings.Repeat("é", 150)); !utf8.ValidString(got) {
		t.Errorf("got %q", got)
	}
}
