package exchange

import (
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func reduced(o *Options) { o.Mode = contract.ModeReduced }

// reducedHost records what a client and a server get of a request whose headers the host cannot hold.
type reducedHost struct {
	head   RequestHead
	action RequestAction
}

func sendReduced(g *Gateway, path, body string) (*Exchange, reducedHost) {
	x := g.Begin("POST", path)
	head := x.RequestHeaders()
	return x, reducedHost{head, x.Request([]byte(body), Host{Now: testNow, ID: testID})}
}

func TestHeadersAreHeldInFullMode(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens",
		"/v1/completions", "/generate"} {
		if head := testGateway(nil).Begin("POST", path).RequestHeaders(); !reflect.DeepEqual(head, RequestHead{Hold: true}) {
			t.Errorf("%s: got %+v", path, head)
		}
	}
}

// TestReducedRequests: a body that does not belong to the model goes nowhere, whatever way its headers have taken.
func TestReducedRequests(t *testing.T) {
	passthrough := func(o *Options) { o.Passthrough = true }
	allowed := func(o *Options) { o.Models[0].RawPrompts = contract.RawPromptsAllow }
	sameName := func(o *Options) {
		o.Models[0].RawPrompts, o.Models[0].ServerModel = contract.RawPromptsAllow, testModel
	}
	both := func(o *Options) { allowed(o); passthrough(o) }
	const (
		prompt = `{"model":"` + testModel + `","prompt":"x"}`
		other  = `{"model":"x","prompt":"x","messages":[]}`
		none   = `{"prompt":"x"}`
	)
	toPool := RequestHead{Path: "/v1/completions", Pool: "pool-1"}
	rewritten := RequestHead{Path: "/v1/completions", Pool: "pool-1", Rewritten: true}
	for _, tt := range []struct {
		name, path, body string
		change           func(*Options)
		head             RequestHead
		want             string // the code of a refusal, "forwarded", "as it came" or "passes"
	}{
		{"translated", "/v1/chat/completions", chatBody(true), nil, rewritten, "forwarded"},
		{"other model", "/v1/chat/completions", other, nil, rewritten, "model_not_found"},
		{"other model, passthrough", "/v1/responses", other, passthrough, rewritten, "model_not_found"},
		{"no model, passthrough", "/v1/responses", none, passthrough, rewritten, "missing_required_parameter"},
		{"no JSON", "/v1/responses", `{`, nil, rewritten, "invalid_json"},

		{"raw", "/v1/completions", prompt, nil, toPool, "raw_prompt_not_allowed"},
		{"raw, other", "/v1/completions", other, nil, toPool, "model_not_found"},
		{"raw, none", "/v1/completions", none, nil, toPool, "missing_required_parameter"},
		{"raw, passthrough", "/v1/completions", prompt, passthrough, RequestHead{}, "raw_prompt_not_allowed"},
		{"raw, other, passthrough", "/v1/completions", other, passthrough, RequestHead{}, "model_not_found"},
		{"raw, none, passthrough", "/v1/completions", none, passthrough, RequestHead{}, "passes"},

		{"allowed", "/v1/completions", prompt, allowed, rewritten, "forwarded"},
		{"allowed, same name", "/v1/completions", prompt, sameName, toPool, "as it came"},
		{"allowed, other", "/v1/completions", other, both, rewritten, "model_not_found"},
		{"allowed, none", "/v1/completions", none, both, rewritten, "missing_required_parameter"},
		{"allowed, wrong type", "/v1/completions", `{"model":1,"prompt":"x"}`, both, rewritten, "invalid_type"},
		{"allowed, no JSON", "/v1/completions", `{`, both, rewritten, "invalid_json"},

		{"server's path", "/generate", prompt, allowed, RequestHead{}, "raw_prompt_not_allowed"},
		{"server's path, other", "/generate", other, passthrough, RequestHead{}, "model_not_found"},
		{"server's path, none", "/generate", none, nil, RequestHead{}, "passes"},
	} {
		g := testGateway(func(o *Options) {
			reduced(o)
			if tt.change != nil {
				tt.change(o)
			}
		})
		_, got := sendReduced(g, tt.path, tt.body)
		if !reflect.DeepEqual(got.head, tt.head) {
			t.Errorf("%s: headers %+v, want %+v", tt.name, got.head, tt.head)
		}
		f := got.action.Forward
		is := "passes"
		switch {
		case got.action.Reply != nil:
			_, is, _ = strings.Cut(string(got.action.Reply.Body), `"code":"`)
			is, _, _ = strings.Cut(is, `"`)
		case f != nil && f.Body != nil:
			is = "forwarded"
		case f != nil:
			is = "as it came"
		}
		if is != tt.want || f != nil && (f.Path != "" || f.Pool != "") {
			t.Errorf("%s: %s, want %s (%+v)", tt.name, is, tt.want, f)
		}
		// Headers that name a pool never let a body through that was not looked at.
		if got.head.Pool != "" && got.action == (RequestAction{}) {
			t.Errorf("%s: a body passes to the pool", tt.name)
		}
	}
}

// A request that ends with its headers is decided on at once, by a host that can still change them.
func TestReducedWithoutBody(t *testing.T) {
	x := testGateway(reduced).Begin("POST", "/v1/chat/completions")
	if a := x.Request(nil, Host{Now: testNow, ID: testID}); a.Reply == nil || a.Reply.Status != 400 {
		t.Errorf("got %+v", a)
	}
}

// A server may answer before it has the body, such as one that checks credentials first. Its answer stands.
func TestReducedAnswerBeforeTheBody(t *testing.T) {
	x := testGateway(reduced).Begin("POST", "/v1/chat/completions")
	x.RequestHeaders()
	a := x.ResponseHeaders(ResponseHead{Status: 401, ContentType: "application/json"})
	if a.Head == nil || a.Head.Status != 502 {
		t.Fatalf("got %+v", a)
	}
	if a := x.Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID}); !a.Hold || a.Forward != nil ||
		a.Reply != nil {
		t.Errorf("got %+v", a)
	}
	if a := x.ResponseBody([]byte(`{"error":"Unauthorized"}`), true); !strings.Contains(string(a.Body),
		`"code":"server_refused_credentials"`) {
		t.Errorf("got %s", a.Body)
	}
	// An allowed raw prompt's answer is not ours to change, and its body is still looked at.
	x = testGateway(func(o *Options) { reduced(o); o.Models[0].RawPrompts = contract.RawPromptsAllow }).Begin("POST",
		"/v1/completions")
	x.RequestHeaders()
	if a := x.ResponseHeaders(ResponseHead{Status: 401}); !a.Pass {
		t.Errorf("got %+v", a)
	}
	if a := x.Request([]byte(`{"model":"x"}`), Host{Now: testNow, ID: testID}); a.Reply == nil || a.Reply.Status != 404 {
		t.Errorf("got %+v", a)
	}
}

func TestReducedWantsOneModel(t *testing.T) {
	g := testGateway(func(o *Options) { reduced(o); o.Models = append(o.Models, o.Models[0]); o.Models[1].Name = "b" })
	if head := g.Begin("POST", "/v1/chat/completions").RequestHeaders(); !reflect.DeepEqual(head, RequestHead{}) {
		t.Errorf("a way was chosen: %+v", head)
	}
}

// TestReducedConversations: what goes to servers of conversations changes no header after the headers have gone.
func TestReducedConversations(t *testing.T) {
	m := contract.DefaultModel("qwen")
	m.Server = contract.Chat
	c := contract.DefaultConfig()
	c.Mode, c.Models = contract.ModeReduced, []contract.Model{m}
	g := New(Options{Config: *c, Tokenizer: o200k.Tokenizer()})
	for path, body := range map[string]string{
		contract.ChatPath:            `{"model":"qwen","messages":[{"role":"user","content":"Hi"}]}`,
		contract.ResponsesPath:       `{"model":"qwen","input":"Hi"}`,
		"/v1/responses/input_tokens": `{"model":"qwen","input":"Hi"}`,
		"/tokenize":                  `{"model":"qwen","prompt":"Hi"}`,
	} {
		x := g.Begin("POST", path)
		if head := x.RequestHeaders(); head.Path == "" || head.Pool == "" {
			t.Errorf("%s: the headers wait: %+v", path, head)
		}
		f := x.Request([]byte(body), Host{Now: 1_700_000_000_000, ID: "0123456789abcdef01234567"}).Forward
		if f == nil || f.Path != "" || f.Pool != "" || f.Readable || f.Body == nil {
			t.Errorf("%s: %+v", path, f)
		}
	}
}
