package exchange

import (
	"strings"
	"testing"
)

// A server that gives up has not answered: a whole answer is a typed error, and so is a stream without a token.
func TestAborted(t *testing.T) {
	const abort = "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"token_ids\":[]," +
		"\"finish_reason\":\"abort\"}]}\n\ndata: [DONE]\n\n"
	token := "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"token_ids\":[200005,17196,200008,13225]}]}\n\n"
	for _, tt := range []struct {
		stream bool
		events string
		status int
	}{{false, abort, 502}, {false, token + abort, 502}, {true, abort, 502}, {true, token + abort, 200}} {
		x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(tt.stream))
		x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
		a := x.ResponseBody([]byte(tt.events), true)
		switch {
		case tt.status == 502 && (a.Reply == nil || a.Reply.Status != 502):
			t.Errorf("stream %v: got %+v", tt.stream, a)
		case tt.status == 200 && (a.Head == nil || a.Head.Status != 200 || !strings.Contains(string(a.Body), `"error":`)):
			t.Errorf("stream %v: got %+v", tt.stream, a)
		}
	}
}

func TestHeadersOnly(t *testing.T) {
	for _, tt := range []struct {
		head   ResponseHead
		status int
	}{
		{ResponseHead{Status: 429, RetryAfter: "7", End: true}, 429},
		{ResponseHead{Status: 204, End: true}, 502},
		{ResponseHead{Status: 302, End: true}, 502},
		{ResponseHead{Status: 200, ContentType: "text/event-stream", End: true}, 502},
		{ResponseHead{Status: 503, Local: true, End: true}, 503},
	} {
		x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
		a := x.ResponseHeaders(tt.head)
		if a.Reply == nil || a.Reply.Status != tt.status || a.Reply.RetryAfter != tt.head.RetryAfter {
			t.Errorf("%+v: got %+v", tt.head, a.Reply)
		}
		if !x.PassesThrough() {
			t.Errorf("%+v: our own reply would be rewritten", tt.head)
		}
	}
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	if a := x.ResponseHeaders(ResponseHead{Status: 503, Local: true, ContentType: "application/json"}); !a.Pass {
		t.Errorf("a reply that the proxy has shaped is rewritten: %+v", a)
	}
}

// TestOverloadIsTold: whoever has no room for a request, the client gets 429, and when to try again: as the server
// says, if it does.
func TestOverloadIsTold(t *testing.T) {
	const body, named = `{"error":{"message":"The queue is full."}}`, `{"error":{"message":"Wait.","code":"queue_full"}}`
	const failed = "data: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\ndata: [DONE]\n\n"
	stream := eventStream
	for _, tt := range []struct {
		name string
		head ResponseHead
		body string
		// code and after are those of the client's error.
		code, after string
	}{
		{"a server", ResponseHead{Status: 503, ContentType: "application/json"}, body, "server_overloaded", "2"},
		{"a server's code", ResponseHead{Status: 503, ContentType: "application/json"}, named, "queue_full", "2"},
		{"a server's time", ResponseHead{Status: 503, RetryAfter: "9"}, body, "server_overloaded", "9"},
		{"a server's page", ResponseHead{Status: 503, ContentType: "text/html"}, "<html>", "server_overloaded", "2"},
		{"no body", ResponseHead{Status: 503, End: true}, "", "server_overloaded", "2"},
		{"a limit", ResponseHead{Status: 429, ContentType: "application/json"}, body, "rate_limit_exceeded", "2"},
		{"a limit's time", ResponseHead{Status: 429, RetryAfter: "30"}, body, "rate_limit_exceeded", "30"},
		{"an event", stream, failed, "server_overloaded", "2"},
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/responses"} {
			x := forwarded(t, testGateway(nil), path, strings.Replace(chatBody(true),
				`"messages":[{"role":"user","content":"Hi"}]`, `"input":"Hi","messages":[{"role":"user","content":"Hi"}]`, 1))
			a := x.ResponseHeaders(tt.head)
			if !tt.head.End {
				a = x.ResponseBody([]byte(tt.body), true)
			}
			status, after, text := 0, tt.head.RetryAfter, string(a.Body)
			switch {
			case a.Reply != nil:
				status, after, text = a.Reply.Status, a.Reply.RetryAfter, string(a.Reply.Body)
			case a.Head != nil:
				status = a.Head.Status
				if a.Head.RetryAfter != "" {
					after = a.Head.RetryAfter
				}
			}
			if status != 429 || after != tt.after || !strings.Contains(text, `"code":"`+tt.code+`"`) {
				t.Errorf("%s, %s: %d %q %s", path, tt.name, status, after, text)
			}
		}
	}
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	x.ResponseHeaders(ResponseHead{Status: 429, ContentType: "application/json"})
	a := x.ResponseBody([]byte(`{"error":{"message":"No credit.","code":"insufficient_quota"}}`), true)
	if a.Head == nil || a.Head.Status != 429 || a.Head.RetryAfter != "" {
		t.Errorf("waiting does not help: %+v", a.Head)
	}
}

func TestTrailers(t *testing.T) {
	stream := answerOf("<|channel|>final<|message|>Hi<|return|>")
	// A finished answer is out before the trailers come.
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(false))
	x.ResponseHeaders(eventStream)
	if a := x.ResponseBody([]byte(stream), false); a.Head == nil ||
		!strings.Contains(string(a.Body), `"finish_reason":"stop"`) {
		t.Fatalf("got %+v", a)
	}
	if a := x.ResponseTrailers(); a.Reply != nil || a.Reset {
		t.Errorf("got %+v", a)
	}
	// One that is not is an error while it can be one, and a cut after that.
	x = forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	x.ResponseHeaders(eventStream)
	if a := x.ResponseTrailers(); a.Reply == nil || a.Reply.Status != 502 {
		t.Errorf("got %+v", a)
	}
	x = forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	x.ResponseHeaders(eventStream)
	x.ResponseBody([]byte(stream[:len(stream)/2]), false)
	if a := x.ResponseTrailers(); !a.Reset {
		t.Errorf("got %+v", a)
	}
	// A failed response that ends with trailers is still put into our shape.
	x = forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	x.ResponseHeaders(ResponseHead{Status: 500, ContentType: "application/json"})
	x.ResponseBody([]byte(`{"error":{"message":"boom"}}`), false)
	if a := x.ResponseTrailers(); a.Reply == nil || a.Reply.Status != 500 ||
		!strings.Contains(string(a.Reply.Body), "boom") {
		t.Errorf("got %+v", a)
	}
}

func TestStalls(t *testing.T) {
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	if a := x.Stalled(testNow + testLimit - 1); a.Reply != nil || a.Reset {
		t.Errorf("given up too early: %+v", a)
	}
	x.ResponseHeaders(eventStream)
	if a := x.Stalled(testNow + testLimit); a.Reply != nil || a.Reset {
		t.Errorf("a sign of life does not count: %+v", a)
	}
	if a := x.Stalled(testNow + 2*testLimit); a.Reply == nil || a.Reply.Status != 504 {
		t.Errorf("before the first token: %+v", a)
	}
	x = forwarded(t, testGateway(nil), "/v1/chat/completions", chatBody(true))
	x.ResponseHeaders(eventStream)
	stream := answerOf("<|channel|>final<|message|>Hi<|return|>")
	x.ResponseBody([]byte(stream[:len(stream)/2]), false)
	if a := x.Stalled(testNow + testLimit); a.Reset || a.Reply != nil {
		t.Errorf("what has just come does not count: %+v", a)
	}
	if a := x.Stalled(testNow + 2*testLimit - 1); a.Reset || a.Reply != nil {
		t.Errorf("given up too early after the first token: %+v", a)
	}
	if a := x.Stalled(testNow + 2*testLimit); !a.Reset {
		t.Errorf("after the first token: %+v", a)
	}
	if a := x.Stalled(testNow + 3*testLimit); a.Reset || a.Reply != nil {
		t.Errorf("given up twice: %+v", a)
	}
	x = forwarded(t, testGateway(func(o *Options) { o.StallTimeoutMS = 0 }), "/v1/chat/completions", chatBody(true))
	if a := x.Stalled(testNow + 1e12); a.Reply != nil || a.Reset {
		t.Errorf("without a limit: %+v", a)
	}
}

// No server can answer a request that has not gone to one; a host that says so all the same does not stop the VM.
func TestResponseBeforeTheRequest(t *testing.T) {
	x := testGateway(nil).Begin("POST", "/v1/chat/completions")
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
	if a := x.ResponseBody([]byte("data: {\"choices\":[]}\n\n"), true); a.Head == nil || a.Head.Status != 502 {
		t.Errorf("got %+v", a)
	}
}

func TestEndlessServer(t *testing.T) {
	body := strings.Replace(chatBody(false), `{`, `{"max_tokens":1,`, 1)
	x := forwarded(t, testGateway(nil), "/v1/chat/completions", body)
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
	events := strings.Repeat("data: {\"choices\":[{\"token_ids\":[13225]}]}\n\n", 100)
	if a := x.ResponseBody([]byte(events), false); a.Reply == nil || a.Reply.Status != 502 {
		t.Errorf("got %+v", a)
	}
}
