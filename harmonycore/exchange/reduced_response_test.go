package exchange

import (
	"strconv"
	"strings"
	"testing"
)

// reducedOutcome is what the client gets: status and type as they went with the headers, then bytes; a cut and a
// failure that would have been a status are noted.
func reducedOutcome(t *testing.T, x *Exchange, head ResponseHead, pieces ...string) string {
	t.Helper()
	a := x.ResponseHeaders(head)
	if a.Hold || a.Head == nil {
		t.Fatalf("headers do not go at once: %+v", a)
	}
	out := strconv.Itoa(a.Head.Status) + " " + a.Head.ContentType + " "
	late := false
	for i, p := range pieces {
		a := x.ResponseBody([]byte(p), i == len(pieces)-1)
		if a.Hold || a.Reply != nil || a.Head != nil {
			t.Fatalf("after the headers: %+v", a)
		}
		late = late || a.Late
		out += string(a.Body)
		if a.Reset || a.ResetAfter {
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
	valid := answerOf("<|channel|>final<|message|>Hi<|return|>")
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
			"stream", true, eventStream, []string{valid, ""}, "200 text/event-stream data: ", `"content":"Hi"`,
			"data: [DONE]\n\n",
		},
		{"whole", false, eventStream, []string{valid, ""}, `200 application/json {"id":`, `"content":"Hi"`, "}}}"},
		{
			"stream, error first", true, eventStream, []string{failed, ""}, "200 text/event-stream data: ",
			`{"error":{"message":"boom"`, "}}\n\n(cut)(late)",
		},
		{"whole, error first", false, eventStream, []string{failed, ""}, "200 application/json (cut)(late)", "", ""},
		{
			"stream, error later", true, eventStream, []string{token, failed, ""}, "200 text/event-stream data: ",
			`{"error":{"message":"boom"`, "}}\n\n(cut)",
		},
		{"whole, error later", false, eventStream, []string{token, failed, ""}, "200 application/json (cut)(late)", "", ""},
		{
			"stream, nothing", true, eventStream, []string{""}, "200 text/event-stream (cut)(late)", "", "",
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
			[]string{strings.Repeat("x", maxErrorBody), strings.Repeat("x", maxDiscarded), "x", ""},
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
				// The other API's words for the same: what went with the headers, and how it ends for the transport. A stream is
				// not cut.
				if mark := strings.Contains(got, "(late)") == strings.Contains(tt.begins+tt.ends, "(late)") &&
					strings.Contains(got, "(cut)") == (strings.Contains(tt.begins, "(cut)") && tt.name != "stream, nothing"); !mark ||
					got[:15] != tt.begins[:15] {
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
	if a := x.ResponseHeaders(ResponseHead{Status: 429, RetryAfter: "7", End: true}); a.Reply == nil ||
		a.Reply.Status != 429 || a.Reply.RetryAfter != "7" {
		t.Errorf("got %+v", a)
	}
}

func TestReducedStallsAndTrailers(t *testing.T) {
	begin := func(head *ResponseHead) *Exchange {
		x, _ := sendReduced(testGateway(reduced), "/v1/chat/completions", chatBody(true))
		if head != nil {
			x.ResponseHeaders(*head)
		}
		return x
	}
	if a := begin(nil).Stalled(testNow + testLimit); a.Reply == nil || a.Reply.Status != 504 {
		t.Errorf("before the headers: got %+v", a)
	}
	for _, head := range []ResponseHead{eventStream, {Status: 500}} {
		x := begin(&head)
		x.Stalled(testNow)
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
	valid := answerOf("<|channel|>analysis<|message|>Hm " +
		"😀.<|end|><|start|>assistant<|channel|>final<|message|>Hé!<|return|>")
	for _, text := range []string{valid, valid[:len(valid)/2], "data: {\"error\":{\"message\":\"no\"," +
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
