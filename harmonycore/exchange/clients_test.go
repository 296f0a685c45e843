package exchange

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// keyed gives a gateway the clients a, b and the deputy service, whose keys are key-a, key-b and key-service.
func keyed(o *Options) {
	o.Clients = contract.Clients{By: contract.ClientsByKey, Required: true, Deputies: []string{"service"},
		Contexts: []string{"a 100", "b 1000 m"}, Reserve: true}
	for _, name := range []string{"a", "b", "service"} {
		o.Clients.Keys = append(o.Clients.Keys, fmt.Sprintf("%x %s", sha256.Sum256([]byte("key-"+name)), name))
	}
	slices.Sort(o.Clients.Keys)
}

func internalOf(headers []Header, name string) string {
	for _, h := range headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// TestKeys: who sends a request, by its headers, and which of them no server gets.
func TestKeys(t *testing.T) {
	byHeader := func(o *Options) {
		o.Clients = contract.Clients{By: contract.ClientsByHeader, Header: "x-user", Required: true}
	}
	optional := func(change func(*Options)) func(*Options) {
		return func(o *Options) { change(o); o.Clients.Required = false }
	}
	long := strings.Repeat("k", maxKey+1)
	for _, tt := range []struct {
		name    string
		change  func(*Options)
		headers [][2]string
		client  string // empty: refused
		hidden  string
	}{
		{"no key", keyed, nil, "", ""},
		{"a key", keyed, [][2]string{{"authorization", "Bearer key-a"}}, "a", "authorization"},
		{"in api-key", keyed, [][2]string{{"api-key", "key-b"}}, "b", "api-key"},
		{"in x-api-key", keyed, [][2]string{{"x-api-key", "key-b"}}, "b", "x-api-key"},
		{"a wrong key", keyed, [][2]string{{"authorization", "Bearer key-c"}}, "", "authorization"},
		{"a wrong and a right one", keyed, [][2]string{{"authorization", "Bearer x"}, {"x-api-key", "key-a"}}, "a",
			"authorization x-api-key"},
		{"two right ones", keyed, [][2]string{{"x-api-key", "key-b"}, {"authorization", "Bearer key-a"}}, "a",
			"x-api-key authorization"},
		{"the hash in place of the key", keyed, [][2]string{{"authorization",
			fmt.Sprintf("Bearer %x", sha256.Sum256([]byte("key-a")))}}, "", "authorization"},
		{"a long key", keyed, [][2]string{{"authorization", long}}, "", ""},
		{"the deputy", keyed, [][2]string{{"authorization", "Bearer key-service"}}, "service", "authorization"},
		{"for another", keyed, [][2]string{{"authorization", "Bearer key-service"}, {contract.BehalfHeader, "b"}}, "b",
			"authorization " + contract.BehalfHeader},
		{"for nobody", keyed, [][2]string{{"authorization", "Bearer key-service"}, {contract.BehalfHeader, "b b"}}, "",
			"authorization " + contract.BehalfHeader},
		{"not a deputy", keyed, [][2]string{{"authorization", "Bearer key-a"}, {contract.BehalfHeader, "b"}}, "a",
			"authorization " + contract.BehalfHeader},
		{"anonymous", optional(keyed), nil, contract.AnonymousClient, ""},
		{"anonymous with a server's key", optional(keyed), [][2]string{{"authorization", "Bearer x"}},
			contract.AnonymousClient, ""},
		{"known although nobody must be", optional(keyed), [][2]string{{"authorization", "Bearer key-a"}}, "a",
			"authorization"},
		{"named", byHeader, [][2]string{{"x-user", "ann@example.com"}, {"authorization", "Bearer key-a"}},
			"ann@example.com", "x-user"},
		{"not named", byHeader, [][2]string{{"authorization", "Bearer key-a"}}, "", ""},
		{"named twice", byHeader, [][2]string{{"x-user", "ann"}, {"x-user", "bob"}}, "", "x-user"},
		{"named badly", byHeader, [][2]string{{"x-user", "ann bob"}}, "", "x-user"},
		{"not named, and need not be", optional(byHeader), nil, contract.AnonymousClient, ""},
		{"off", func(*Options) {}, [][2]string{{"authorization", "Bearer key-a"}}, "off", ""},
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/models", "/v1/embeddings", "/v1/models/other",
			"/v1/responses/resp_1"} {
			x := testGateway(func(o *Options) { o.Passthrough = true; tt.change(o) }).Begin("GET", path)
			if path == "/v1/chat/completions" {
				x = testGateway(tt.change).Begin("POST", path)
			}
			if x == nil {
				if tt.client != "off" {
					t.Errorf("%s: %s is left alone", tt.name, path)
				}
				continue
			}
			for _, h := range tt.headers {
				x.Header(h[0], h[1])
			}
			action := x.Request([]byte(`{"model":"gpt-oss-120b","messages":[{"role":"user","content":"x"}],"max_tokens":5}`),
				Host{Now: testNow, ID: testID})
			refused := action.Reply != nil && action.Reply.Status == 401
			if refused != (tt.client == "") || strings.Join(x.Hidden(), " ") != tt.hidden {
				t.Errorf("%s: %s: %+v, hidden %q", tt.name, path, action.Reply, x.Hidden())
			}
			if refused && (!strings.Contains(string(action.Reply.Body), `"code":"invalid_api_key"`) ||
				strings.Contains(string(action.Reply.Body), "key-")) {
				t.Errorf("%s: %s: %s", tt.name, path, action.Reply.Body)
			}
			if client := x.Report().Client; !refused && tt.client != "off" && client != tt.client {
				t.Errorf("%s: %s: the client is %q", tt.name, path, client)
			}
			if f := action.Forward; f != nil && f.Pool != "" && tt.client != "off" &&
				internalOf(f.Internal, contract.ClientHeader) != tt.client {
				t.Errorf("%s: %s: the proxy is told %+v", tt.name, path, f.Internal)
			}
		}
	}
}

// TestGuarded: which requests of others must show a key.
func TestGuarded(t *testing.T) {
	g := testGateway(func(o *Options) { keyed(o); o.Clients.Paths = []string{"/v1/", "/extra/", "/one"} })
	for path, guarded := range map[string]bool{
		"/v1/embeddings": true, "/V1/embeddings": true, "/v1": true, "/extra/a": true, "/one": true, "/one/b": true,
		"/%65xtra/a": true, "/health": false, "/": false, "/ones": false, "/app/v1/x": false,
	} {
		if x := g.Begin("GET", path); (x != nil) != guarded {
			t.Errorf("%s: %v", path, x)
		} else if guarded {
			if head := x.RequestHeaders(); head.Reply == nil || head.Reply.Status >= 500 {
				t.Errorf("%s: %+v", path, head)
			}
		}
	}
	all := testGateway(func(o *Options) { keyed(o); o.Clients.Paths = []string{"/"} })
	if all.Begin("GET", "/anything") == nil {
		t.Error("a path below / is not guarded")
	}
	x := g.BeginUpgrade("GET", "/v1/realtime", "websocket")
	if x == nil || x.RequestHeaders().Reply == nil {
		t.Error("an upgrade is not guarded")
	}
}

// TestContexts: a client's largest context takes the place of the model's.
func TestContexts(t *testing.T) {
	for _, tt := range []struct {
		key       string
		words     int
		max       string
		status    int
		maxTokens string
	}{
		{"key-a", 5, "", 0, ""},
		{"key-a", 200, "", 400, ""},
		{"key-b", 200, "", 0, ""},
		{"key-a", 5, `,"max_tokens":5`, 0, `"max_tokens":5,`},
	} {
		x := testGateway(func(o *Options) { keyed(o); o.Models[0].Aliases = nil }).Begin("POST", "/v1/chat/completions")
		x.Header("authorization", "Bearer "+tt.key)
		action := x.Request([]byte(`{"model":"gpt-oss-120b","messages":[{"role":"user","content":"`+
			strings.Repeat("word ", tt.words)+`"}]`+tt.max+`}`), Host{Now: testNow, ID: testID})
		switch {
		case tt.status != 0:
			if action.Reply == nil || action.Reply.Status != tt.status ||
				!strings.Contains(string(action.Reply.Body), "maximum context length is 100 tokens") ||
				!strings.Contains(string(action.Reply.Body), contract.CodeContextLengthExceeded) {
				t.Errorf("%+v: %+v", tt, action.Reply)
			}
		case action.Forward == nil || !strings.Contains(string(action.Forward.Body), tt.maxTokens):
			t.Errorf("%+v: %+v", tt, action)
		case tt.key == "key-a" && tt.max == "" && internalOf(action.Forward.Internal, contract.ReserveHeader) != "100":
			t.Errorf("%+v: reserved %+v", tt, action.Forward.Internal)
		}
	}
}

// TestReservations: what is reserved, what of it is used, and what the client of a refused one is told.
func TestReservations(t *testing.T) {
	begin := func(rest string) (*Exchange, string) {
		x := testGateway(keyed).Begin("POST", "/v1/chat/completions")
		x.Header("authorization", "Bearer key-b")
		action := x.Request([]byte(`{"model":"gpt-oss-120b","messages":[{"role":"user","content":"x"}]`+rest+`}`),
			Host{Now: testNow, ID: testID})
		if action.Forward == nil {
			t.Fatalf("%s: %s", rest, action.Reply.Body)
		}
		in := action.Forward.Internal
		if internalOf(in, contract.ModelHeader) != "gpt-oss-120b" || internalOf(in, contract.ReservationHeader) != testID {
			t.Errorf("%s: %+v", rest, in)
		}
		return x, internalOf(in, contract.ReserveHeader)
	}
	x, one := begin(`,"max_tokens":10`)
	prompt := x.Report().PromptTokens
	if want := fmt.Sprint(prompt + 10); one != want {
		t.Errorf("reserved %s, want %s", one, want)
	}
	if _, three := begin(`,"max_tokens":10,"n":3`); three != fmt.Sprint(prompt+30) {
		t.Errorf("three choices reserve %s", three)
	}
	for _, tt := range []struct {
		name string
		head *ResponseHead
		used int
	}{
		{"the client leaves first", nil, prompt},
		{"served", &ResponseHead{Status: 200, ContentType: "text/event-stream"}, prompt},
		{"refused by the server", &ResponseHead{Status: 400, ContentType: "application/json"}, 0},
		{"no server", &ResponseHead{Status: 503, Local: true, ContentType: "application/json"}, 0},
		{"refused by the limits", &ResponseHead{Status: 429, Local: true, End: true}, 0},
		{"the pool is full", &ResponseHead{Status: 429, Local: true, Full: true, ContentType: "application/json"}, 0},
	} {
		x, _ := begin(`,"max_tokens":10`)
		if tt.head != nil {
			x.ResponseHeaders(*tt.head)
		}
		if limited := x.Report().Pool == ""; limited != (tt.name == "refused by the limits") {
			t.Errorf("%s: the pool is %q", tt.name, x.Report().Pool)
		}
		if r := x.Report(); r.UsedTokens != tt.used || !r.Reserves || r.ReservedTokens != prompt+10 {
			t.Errorf("%s: %d of %d", tt.name, r.UsedTokens, r.ReservedTokens)
		}
	}
	x, _ = begin(``)
	x.NeverSent()
	if r := x.Report(); r.UsedTokens != 0 {
		t.Errorf("without a server: %d", r.UsedTokens)
	}
	limits := []Header{{"x-ratelimit-limit", "5"}}
	x, _ = begin(``)
	a := x.ResponseHeaders(ResponseHead{Status: 429, Local: true, End: true, RetryAfter: "7", Limits: limits})
	if a.Reply == nil || a.Reply.Status != 429 || a.Reply.RetryAfter != "7" || !slices.Equal(a.Reply.Headers, limits) ||
		!strings.Contains(string(a.Reply.Body), `"code":"rate_limit_exceeded"`) {
		t.Errorf("an empty refusal becomes %+v", a.Reply)
	}
	x, _ = begin(``)
	if a := x.ResponseHeaders(ResponseHead{Status: 429, Local: true, ContentType: "application/json"}); !a.Pass {
		t.Errorf("a shaped refusal becomes %+v", a)
	}
	x, _ = begin(``)
	if a := x.ResponseHeaders(ResponseHead{Status: 429, ContentType: "application/json"}); a.Pass || x.Report().UsedTokens != 0 {
		t.Errorf("the server's refusal becomes %+v", a)
	}
}
