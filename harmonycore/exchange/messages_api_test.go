package exchange

import (
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// messagesBody is a body for Messages, with further members.
func messagesBody(rest string) string {
	return `{"model":"` + testModel + `","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]` + rest + `}`
}

// TestOtherMessagesPaths: what is below Anthropic's API and is not ours has an error in its form, whatever the method.
// With another server it is left to that one, except for a model of ours.
func TestOtherMessagesPaths(t *testing.T) {
	for _, tt := range []struct {
		method, path string
		status       int
		kind         string
	}{
		{"GET", "/v1/messages", 405, "invalid_request_error"}, {"PUT", "/v1/messages/count_tokens", 405,
			"invalid_request_error"},
		{"POST", "/v1/messages/batches", 404, "not_found_error"}, {"GET", "/v1/messages/batches/x", 404, "not_found_error"},
		{"POST", "/V1/Messages/", 404, "not_found_error"}, {"POST", "/v1//messages", 400, "invalid_request_error"},
		{"post", "/v1/messages", 400, "invalid_request_error"},
	} {
		x := testGateway(nil).Begin(tt.method, tt.path)
		x.Header(requestIDHeader, "r1")
		r := x.RequestHeaders().Reply
		if r == nil || r.Status != tt.status || !strings.HasPrefix(string(r.Body),
			`{"type":"error","error":{"type":"`+tt.kind) ||
			!strings.HasSuffix(string(r.Body), `,"request_id":"r1"}`) {
			t.Errorf("%s %s: %+v", tt.method, tt.path, r)
		}
	}
	other := testGateway(func(o *Options) { o.Passthrough = true })
	for body, status := range map[string]int{messagesBody(""): 404, `{"model":"other"}`: 0, `{"requests":[]}`: 0} {
		a := other.Begin("POST", "/v1/messages/batches").Request([]byte(body), Host{Now: testNow, ID: testID})
		if got := a.Reply; status == 0 && got != nil || status != 0 && (got == nil || got.Status != status ||
			!strings.Contains(string(got.Body), "not_found_error")) {
			t.Errorf("%s: %+v", body, got)
		}
	}
	if x := Misconfigured().Begin("POST", "/v1/messages"); x == nil ||
		!strings.Contains(string(x.RequestHeaders().Reply.Body), `"type":"api_error"`) {
		t.Error("no error of a gateway that is misconfigured")
	}
}

// TestMessagesErrors: the gateway's errors have Anthropic's form, and its words where clients act on them.
func TestMessagesErrors(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		change     func(*Options)
		headers    [][2]string
		status     int
		want       string
	}{
		{"no JSON", `{`, nil, nil, 400, `"type":"invalid_request_error","message":"`},
		{"no model", `{"max_tokens":9,"messages":[]}`, nil, nil, 400, `"message":"model: Field required"`},
		{"no max_tokens", `{"model":"` + testModel + `","messages":[{"role":"user","content":"Hi"}]}`, nil, nil, 400,
			`"message":"max_tokens: Field required"`},
		{"another model", `{"model":"other","max_tokens":9,"messages":[]}`, nil, nil, 404,
			`"type":"not_found_error","message":"The model 'other' does not exist here. GET /v1/models lists those that do."`},
		{"a large body", strings.Repeat(" ", 1<<20) + messagesBody(""), nil, nil, 413, `"type":"request_too_large"`},
		{"a member twice", messagesBody(`,"messages":[]`), nil, nil, 400, `"message":"Duplicate key: 'messages'`},
		{"no key", messagesBody(""), keyed, nil, 401, `"type":"authentication_error"`},
		{"a wrong key", messagesBody(""), keyed, [][2]string{{"x-api-key", "wrong"}}, 401, `"type":"authentication_error"`},
	} {
		x := testGateway(tt.change).Begin("POST", contract.MessagesPath)
		for _, h := range tt.headers {
			x.Header(h[0], h[1])
		}
		a := x.Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		if a.Reply == nil || a.Reply.Status != tt.status || !strings.Contains(string(a.Reply.Body), tt.want) ||
			!strings.HasPrefix(string(a.Reply.Body), `{"type":"error",`) {
			t.Errorf("%s: %+v", tt.name, a.Reply)
		}
		if got := internalOf(a.Reply.Headers, "x-should-retry"); (got == "false") != (tt.status == 401) {
			t.Errorf("%s: x-should-retry is %q", tt.name, got)
		}
	}
}

// TestMessagesTooLong: the words name more tokens than the model takes, and about as many as there are.
func TestMessagesTooLong(t *testing.T) {
	for _, path := range []string{contract.MessagesPath, contract.CountTokensPath} {
		body := strings.Replace(messagesBody(""), "Hi", strings.Repeat("word ", 8000), 1)
		a := testGateway(nil).Begin("POST", path).Request([]byte(body), Host{Now: testNow, ID: testID})
		const want = `{"type":"error","error":{"type":"invalid_request_error",` +
			`"message":"prompt is too long: 10021 tokens > 4096 maximum"}}`
		if a.Reply == nil || a.Reply.Status != 400 || string(a.Reply.Body) != want {
			t.Errorf("%s: %+v", path, a.Reply)
		}
	}
}

// TestCountMessages: the count is the number of ids that the same request sends, and needs no max_tokens.
func TestCountMessages(t *testing.T) {
	for _, rest := range []string{"", `,"stream":true`} {
		g := testGateway(nil)
		sent := forwardedBody(t, g, contract.MessagesPath, messagesBody(rest))
		ids := strings.Count(between(sent, `"prompt":[`, "]"), ",") + 1
		body := strings.Replace(messagesBody(rest), `"max_tokens":9,`, "", 1)
		a := g.Begin("POST", contract.CountTokensPath).Request([]byte(body), Host{Now: testNow, ID: testID})
		if a.Reply == nil || a.Reply.Status != 200 || string(a.Reply.Body) != `{"input_tokens":`+strconv.Itoa(ids)+`}` {
			t.Errorf("%d ids are sent, and counted are %+v", ids, a.Reply)
		}
	}
}

// between returns the text between two others.
func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}

// TestCountMessagesAtServers: servers that take conversations count them. What they cannot count is a 501, after which
// Claude Code estimates.
func TestCountMessagesAtServers(t *testing.T) {
	g := conversing(nil)
	const request = `{"model":"qwen","messages":[{"role":"user","content":"u"}]}`
	ok := ResponseHead{Status: 200, ContentType: contentTypeJSON}
	forward, got := served(t, g, contract.CountTokensPath, request, ok, tokenized, 7)
	if forward == nil || forward.Path != contract.TokenizePath ||
		string(forward.Body) != `{"model":"Qwen/Qwen3-30B-A3B","messages":[{"role":"user","content":"u"}]}` ||
		got.Status != 200 || string(got.Body) != `{"input_tokens":7}` {
		t.Errorf("sent %+v, got %d %s", forward, got.Status, got.Body)
	}
	none := ResponseHead{Status: 404, ContentType: contentTypeJSON}
	_, got = served(t, g, contract.CountTokensPath, request, none, `{"detail":"Not Found"}`, 100)
	if got.Status != 501 || !strings.HasPrefix(string(got.Body), `{"type":"error","error":{"type":"not_supported"`) {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
}

// TestAgentSessions: a session of Claude Code goes to one server, as a key for the servers' caches does.
func TestAgentSessions(t *testing.T) {
	g := alikeGateway(nil)
	one, _, by := told(t, g, contract.MessagesPath, messagesBody(""), "x-claude-code-session-id", "s1")
	two, _, _ := told(t, g, contract.MessagesPath, strings.Replace(messagesBody(""), "Hi", "Ho", 1),
		"x-claude-code-session-id", "s1")
	other, _, _ := told(t, g, contract.MessagesPath, messagesBody(""), "x-claude-code-session-id", "s2")
	if one == "" || one != two || one == other || by != contract.RoutedByCacheKey {
		t.Errorf("%q, %q, %q by %q", one, two, other, by)
	}
	if _, _, by := told(t, g, contract.MessagesPath, messagesBody("")); by != contract.RoutedByPrefix {
		t.Errorf("without a session by %q", by)
	}
	if _, _, by := told(t, g, contract.ChatPath, chatBody(true), "x-claude-code-session-id",
		"s1"); by != contract.RoutedByPrefix {
		t.Errorf("in OpenAI's API by %q", by)
	}
}

// TestMessagesReduced: a host that holds no headers has sent them on, and a body that does not belong to the model goes
// nowhere.
func TestMessagesReduced(t *testing.T) {
	g := testGateway(func(o *Options) { o.Mode = contract.ModeReduced })
	for body, want := range map[string]string{
		messagesBody(""): "", `{"model":"other","max_tokens":9,"messages":[]}`: "not_found_error",
		`{"model":"` + testModel + `"}`: "invalid_request_error",
	} {
		_, got := sendReduced(g, contract.MessagesPath, body)
		if got.head.Pool != "pool-1" || got.head.Path != contract.CompletionsPath || !got.head.Rewritten ||
			(got.action.Forward != nil) != (want == "") {
			t.Errorf("%s: %+v", body, got)
		}
		if r := got.action.Reply; want != "" && (r == nil || !strings.Contains(string(r.Body), want)) {
			t.Errorf("%s: %+v", body, r)
		}
	}
}

// TestMessagesAtChatServers: servers that take conversations get one, and their errors come in Anthropic's form and
// words.
func TestMessagesAtChatServers(t *testing.T) {
	const request = `{"model":"qwen","max_tokens":9,"system":"s","messages":[{"role":"user","content":"u"}]}`
	x := conversing(nil).Begin("POST", contract.MessagesPath)
	a := x.Request([]byte(request), Host{Now: testNow, ID: testID})
	if a.Forward == nil || a.Forward.Path != contract.ChatPath ||
		!strings.Contains(string(a.Forward.Body),
			`"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]`) {
		t.Fatalf("%+v", a)
	}
	if a := x.ResponseHeaders(ResponseHead{Status: 400, ContentType: contentTypeJSON}); !a.Hold {
		t.Fatalf("%+v", a)
	}
	got := x.ResponseBody([]byte(`{"error":{"message":"This model's maximum context length is 131072 tokens. `+
		`However, you requested 140000 tokens.","code":"context_length_exceeded"}}`), true)
	const want = `{"type":"error","error":{"type":"invalid_request_error",` +
		`"message":"prompt is too long: 140000 tokens > 131072 maximum"}}`
	if got.Head == nil || got.Head.Status != 400 || string(got.Body) != want {
		t.Errorf("%+v %s", got.Head, got.Body)
	}
}

// TestMessagesLimited: what the rate limit service says in OpenAI's form comes in Anthropic's, and its headers stay.
func TestMessagesLimited(t *testing.T) {
	x := testGateway(keyed).Begin("POST", contract.MessagesPath)
	x.Header("x-api-key", "key-b")
	if a := x.Request([]byte(messagesBody("")), Host{Now: testNow, ID: testID}); a.Forward == nil {
		t.Fatalf("%+v", a.Reply)
	}
	head := ResponseHead{Status: 429, Local: true, ContentType: contentTypeJSON, RetryAfter: "7"}
	if a := x.ResponseHeaders(head); !a.Hold {
		t.Fatalf("%+v", a)
	}
	a := x.ResponseBody([]byte(`{"error":{"message":"Wait.","type":"rate_limit_error","param":null,"code":"c"}}`), true)
	if string(a.Body) != `{"type":"error","error":{"type":"rate_limit_error","message":"Wait."}}` || a.Head == nil ||
		a.Head.Status != 429 || a.Head.RetryAfter != "" || x.Report().UsedTokens != 0 {
		t.Errorf("%+v %s", a.Head, a.Body)
	}
}

// TestMessagesUntranslated: where no request is translated, servers that have Anthropic's API get the body as it came.
func TestMessagesUntranslated(t *testing.T) {
	for _, translated := range []string{"0%", contract.TranslateObserve} {
		g := testGateway(func(o *Options) { o.Models[0].Translate, o.Models[0].ServerModel = translated, testModel })
		x := g.Begin("POST", contract.MessagesPath+"?beta=true")
		a := x.Request([]byte(messagesBody("")), Host{Now: testNow, ID: testID})
		if a.Forward == nil || a.Forward.Path != contract.MessagesPath || a.Forward.Body != nil ||
			a.Forward.Pool != contract.UntranslatedRoute("pool-1") || !x.Report().Untranslated ||
			(x.observer != nil) != (translated == contract.TranslateObserve) {
			t.Errorf("%s: %+v", translated, a)
		}
	}
	g := testGateway(func(o *Options) { o.Models[0].Server, o.Models[0].Translate = contract.TRTLLM, "0%" })
	a := g.Begin("POST", contract.MessagesPath).Request([]byte(messagesBody("")), Host{Now: testNow, ID: testID})
	if a.Reply == nil || a.Reply.Status != 404 || !strings.Contains(string(a.Reply.Body), "not_found_error") {
		t.Errorf("%+v", a)
	}
}
