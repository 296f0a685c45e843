package exchange

import (
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

func reduced(o *Options) { o.Mode = contract.ModeReduced }

// reducedHost is what a client and a server have of a request whose headers nobody can hold.
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
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/completions", "/generate"} {
		if head := testGateway(nil).Begin("POST", path).RequestHeaders(); head != (RequestHead{Hold: true}) {
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
		ours  = `{"model":"` + testModel + `","prompt":"x"}`
		other = `{"model":"x","prompt":"x","messages":[]}`
		none  = `{"prompt":"x"}`
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

		{"raw", "/v1/completions", ours, nil, toPool, "raw_prompt_not_allowed"},
		{"raw, other", "/v1/completions", other, nil, toPool, "model_not_found"},
		{"raw, none", "/v1/completions", none, nil, toPool, "missing_required_parameter"},
		{"raw, passthrough", "/v1/completions", ours, passthrough, RequestHead{}, "raw_prompt_not_allowed"},
		{"raw, other, passthrough", "/v1/completions", other, passthrough, RequestHead{}, "model_not_found"},
		{"raw, none, passthrough", "/v1/completions", none, passthrough, RequestHead{}, "passes"},

		{"allowed", "/v1/completions", ours, allowed, rewritten, "forwarded"},
		{"allowed, same name", "/v1/completions", ours, sameName, toPool, "as it came"},
		{"allowed, other", "/v1/completions", other, both, rewritten, "model_not_found"},
		{"allowed, none", "/v1/completions", none, both, rewritten, "missing_required_parameter"},
		{"allowed, wrong type", "/v1/completions", `{"model":1,"prompt":"x"}`, both, rewritten, "invalid_type"},
		{"allowed, no JSON", "/v1/completions", `{`, both, rewritten, "invalid_json"},

		{"server's path", "/generate", ours, allowed, RequestHead{}, "raw_prompt_not_allowed"},
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
		if got.head != tt.head {
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
	a := x.ResponseHeaders(ResponseHead{Status: 401, ContentType: "application/json"}, testNow)
	if a.Head == nil || a.Head.Status != 401 {
		t.Fatalf("got %+v", a)
	}
	if a := x.Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID}); !a.Hold || a.Forward != nil ||
		a.Reply != nil {
		t.Errorf("got %+v", a)
	}
	if a := x.ResponseBody([]byte(`{"error":"Unauthorized"}`), true, testNow); !strings.Contains(string(a.Body),
		`"code":"server_refused_credentials"`) {
		t.Errorf("got %s", a.Body)
	}
	// An allowed raw prompt's answer is not ours to change, and its body is still looked at.
	x = testGateway(func(o *Options) { reduced(o); o.Models[0].RawPrompts = contract.RawPromptsAllow }).Begin("POST",
		"/v1/completions")
	x.RequestHeaders()
	if a := x.ResponseHeaders(ResponseHead{Status: 401}, testNow); !a.Pass {
		t.Errorf("got %+v", a)
	}
	if a := x.Request([]byte(`{"model":"x"}`), Host{Now: testNow, ID: testID}); a.Reply == nil || a.Reply.Status != 404 {
		t.Errorf("got %+v", a)
	}
}

// reducedOutcome is what the client gets: status and type as they went with the headers, then bytes; a cut and a
// failure that would have been a status are noted.
func reducedOutcome(t *testing.T, x *Exchange, head ResponseHead, pieces ...string) string {
	t.Helper()
	a := x.ResponseHeaders(head, testNow)
	if a.Hold || a.Head == nil {
		t.Fatalf("headers do not go at once: %+v", a)
	}
	out := strconv.Itoa(a.Head.Status) + " " + a.Head.ContentType + " "
	late := false
	for i, p := range pieces {
		a := x.ResponseBody([]byte(p), i == len(pieces)-1, testNow)
		if a.Hold || a.Reply != nil || a.Head != nil {
			t.Fatalf("after the headers: %+v", a)
		}
		late = late || a.Late
		out += string(a.Body)
		if a.Reset {
			out += "(cut)"
			break
		}
	}
	if late {
		out += "(late)"
	}
	return out
}

// TestReducedResponses: status and content type are all that is known when the headers go; what fails afterwards is an
// event in a stream, and a cut of a whole answer. Nothing else differs from full mode.
func TestReducedResponses(t *testing.T) {
	good := answerOf("<|channel|>final<|message|>Hi<|return|>")
	const failed = "data: {\"error\":{\"message\":\"boom\",\"code\":503}}\n\ndata: [DONE]\n\n"
	token := "data: {\"choices\":[{\"token_ids\":[200005,17196,200008,13225]}]}\n\n"
	for _, tt := range []struct {
		name   string
		stream bool
		head   ResponseHead
		pieces []string
		begins string
		has    string
		ends   string
	}{
		{
			"stream", true, eventStream, []string{good, ""}, "200 text/event-stream data: ", `"content":"Hi"`,
			"data: [DONE]\n\n",
		},
		{"whole", false, eventStream, []string{good, ""}, `200 application/json {"id":`, `"content":"Hi"`, "}}}"},
		{
			"stream, error first", true, eventStream, []string{failed, ""}, "200 text/event-stream data: ",
			`{"error":{"message":"boom"`, "data: [DONE]\n\n(late)",
		},
		{"whole, error first", false, eventStream, []string{failed, ""}, "200 application/json (cut)(late)", "", ""},
		{
			"stream, error later", true, eventStream, []string{token, failed, ""}, "200 text/event-stream data: ",
			`{"error":{"message":"boom"`, "data: [DONE]\n\n",
		},
		{"whole, error later", false, eventStream, []string{token, failed, ""}, "200 application/json (cut)(late)", "", ""},
		{
			"stream, nothing", true, eventStream, []string{""}, "200 text/event-stream data: ", `{"error":{"message":`,
			"data: [DONE]\n\n(late)",
		},
		{"whole, no finish", false, eventStream, []string{token, ""}, "200 application/json (cut)(late)", "", ""},
		{
			"refusal", true, ResponseHead{Status: 429, ContentType: "application/json"},
			[]string{`{"error":{"mess`, `age":"slow down"}}`, ""},
			`429 application/json {"error":`, "slow down", "}}"},
		{
			"refusal, whole", false, ResponseHead{Status: 400}, []string{"no", ""}, `400 application/json {"error":`,
			"invalid_request", "}}",
		},
		{"redirect", true, ResponseHead{Status: 302}, []string{""}, `502 application/json {"error":`, "server_error", "}}"},
		{
			"error under 200", true, ResponseHead{Status: 200, ContentType: "application/json"},
			[]string{`{"error":{"message":"boom","code":503}}`, ""},
			`502 application/json {"error":`, "server_overloaded", "}}"},
		{
			"no events", false, ResponseHead{Status: 200, ContentType: "text/html"}, []string{"<html>", ""},
			`502 application/json {"error":`, "understood", "}}",
		},
		{
			"proxy's words", true, ResponseHead{Status: 503, ContentType: "text/plain", Local: true},
			[]string{"no healthy upstream", ""},
			`503 application/json {"error":`, "no healthy upstream", "}}"},
		{
			"large refusal", true, ResponseHead{Status: 500}, []string{strings.Repeat("x", maxErrorBody), "more", ""},
			`500 application/json {"error":`, "status 500", "}}",
		},
		{
			"endless refusal", true, ResponseHead{Status: 500},
			[]string{strings.Repeat("x", maxErrorBody), strings.Repeat("x", maxSkipped), "x", ""},
			"500 application/json (cut)(late)", "", ""},
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/responses"} {
			body := chatBody(tt.stream)
			if path == "/v1/responses" {
				body = strings.Replace(body, `"messages":[{"role":"user","content":"Hi"}]`, `"input":"Hi"`, 1)
			}
			x, sent := sendReduced(testGateway(reduced), path, body)
			if sent.action.Forward == nil {
				t.Fatalf("not forwarded: %+v", sent.action)
			}
			got := reducedOutcome(t, x, tt.head, tt.pieces...)
			if path == "/v1/responses" {
				// The other API's words for the same: what went with the headers, and how it ends for the transport.
				if mark := strings.Contains(got, "(late)") == strings.Contains(tt.begins+tt.ends, "(late)") &&
					strings.Contains(got, "(cut)") == strings.Contains(tt.begins, "(cut)"); !mark || got[:15] != tt.begins[:15] {
					t.Errorf("%s %s: got %s", path, tt.name, got)
				}
				if strings.Contains(tt.ends, "(late)") &&
					(!strings.Contains(got, "response.created") || !strings.Contains(got, "response.failed")) {
					t.Errorf("%s %s: got %s", path, tt.name, got)
				}
				continue
			}
			if !strings.HasPrefix(got, tt.begins) || !strings.Contains(got, tt.has) || !strings.HasSuffix(got, tt.ends) {
				t.Errorf("%s %s: got %.400s", path, tt.name, got)
			}
		}
	}
}

// A response without a body is decided on with its headers, which can still be answered in place of.
func TestReducedHeadersOnly(t *testing.T) {
	x, _ := sendReduced(testGateway(reduced), "/v1/chat/completions", chatBody(true))
	if a := x.ResponseHeaders(ResponseHead{Status: 429, RetryAfter: "7", End: true}, testNow); a.Reply == nil ||
		a.Reply.Status != 429 || a.Reply.RetryAfter != "7" {
		t.Errorf("got %+v", a)
	}
}

func TestReducedStallsAndTrailers(t *testing.T) {
	begin := func(head *ResponseHead) *Exchange {
		x, _ := sendReduced(testGateway(reduced), "/v1/chat/completions", chatBody(true))
		if head != nil {
			x.ResponseHeaders(*head, testNow)
		}
		return x
	}
	if a := begin(nil).Stalled(testNow + testLimit); a.Reply == nil || a.Reply.Status != 504 {
		t.Errorf("before the headers: got %+v", a)
	}
	for _, head := range []ResponseHead{eventStream, {Status: 500}} {
		x := begin(&head)
		if a := x.Stalled(testNow + testLimit); !a.Reset || !a.Late {
			t.Errorf("%+v, stalled: got %+v", head, a)
		}
		if a := x.Stalled(testNow + 3*testLimit); a.Reset || a.Reply != nil {
			t.Errorf("%+v, given up twice: %+v", head, a)
		}
		if a := begin(&head).ResponseTrailers(); !a.Reset || !a.Late {
			t.Errorf("%+v, trailers: got %+v", head, a)
		}
	}
}

// TestReducedCuts: wherever the network cuts a server's stream, the client gets the same.
func TestReducedCuts(t *testing.T) {
	good := answerOf("<|channel|>analysis<|message|>Hm " +
		"😀.<|end|><|start|>assistant<|channel|>final<|message|>Hé!<|return|>")
	for _, text := range []string{good, good[:len(good)/2], "data: {\"error\":{\"message\":\"no\"," +
		"\"code\":503}}\n\ndata: [DONE]\n\n"} {
		for _, stream := range []bool{true, false} {
			run := func(pieces ...string) string {
				x, _ := sendReduced(testGateway(reduced), "/v1/chat/completions", chatBody(stream))
				return reducedOutcome(t, x, eventStream, pieces...)
			}
			want := run(text, "")
			for at := range len(text) {
				if got := run(text[:at], text[at:], ""); got != want {
					t.Fatalf("cut at %d: %s\nwant %s", at, got, want)
				}
			}
			if got := run(append(strings.Split(text, ""), "")...); got != want {
				t.Fatalf("in single bytes: %s\nwant %s", got, want)
			}
		}
	}
}

func TestReducedWantsOneModel(t *testing.T) {
	g := testGateway(func(o *Options) { reduced(o); o.Models = append(o.Models, o.Models[0]); o.Models[1].Name = "b" })
	if head := g.Begin("POST", "/v1/chat/completions").RequestHeaders(); head != (RequestHead{}) {
		t.Errorf("a way was chosen: %+v", head)
	}
}
