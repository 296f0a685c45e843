package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestEmptyLength: a conversation that is too long, by the gateway's count or by the server's, gets an empty answer in
// the form that the client asked for.
func TestEmptyLength(t *testing.T) {
	g := testGateway(func(o *Options) { o.Models[0].Answers.ContextError = contract.ContextEmptyLength })
	refusal := `{"error":{"message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError",` +
		`"param":"input_tokens","code":400}}`
	for _, tt := range []struct{ path, options, contentType, want string }{
		{"/v1/chat/completions", ``, "application/json", `"content":"","refusal":null`},
		{"/v1/chat/completions", `"n":2,`, "application/json", `{"index":1,"message":{"role":"assistant","content":""`},
		{"/v1/chat/completions", `"stream":true,`, "text/event-stream", `"finish_reason":"length"}]}` +
			"\n\ndata: [DONE]\n\n"},
		{"/v1/responses", ``, "application/json", `"incomplete_details":{"reason":"max_output_tokens"}`},
		{"/v1/responses", `"stream":true,`, "text/event-stream", "event: response.incomplete\n"},
	} {
		body := `{"model":"` + testModel + `",` + tt.options + `"messages":[{"role":"user","content":"%s"}]}`
		if tt.path == "/v1/responses" {
			body = `{"model":"` + testModel + `",` + tt.options + `"input":"%s"}`
		}
		own := g.Begin("POST", tt.path).Request([]byte(fmt.Sprintf(body, strings.Repeat("word ", 5000))),
			Host{Now: testNow, ID: testID}).Reply
		x := forwarded(t, g, tt.path, fmt.Sprintf(body, "Hi"))
		x.ResponseHeaders(ResponseHead{Status: 400, ContentType: "application/json"})
		a := x.ResponseBody([]byte(refusal), true)
		if own == nil || a.Head == nil {
			t.Fatalf("%s %s: %+v and %+v", tt.path, tt.options, own, a)
		}
		server := Reply{Status: a.Head.Status, ContentType: a.Head.ContentType, Body: a.Body}
		if finish := x.Report().Finish; finish != FinishLength {
			t.Errorf("reported as %q", finish)
		}
		for _, r := range []*Reply{own, &server} {
			if r.Status != 200 || r.MediaType() != tt.contentType || !strings.Contains(string(r.Body), tt.want) ||
				!strings.Contains(string(r.Body), `"length"`) && tt.path != "/v1/responses" {
				t.Errorf("%s %s: %d %s %s", tt.path, tt.options, r.Status, r.MediaType(), r.Body)
			}
			if strings.Count(string(r.Body), `"type":"message"`) == 0 && tt.path == "/v1/responses" {
				t.Errorf("%s %s: no message in %s", tt.path, tt.options, r.Body)
			}
		}
		if string(own.Body) != string(server.Body) {
			t.Errorf("%s %s: the gateway answers\n%s\nand for the server\n%s", tt.path, tt.options, own.Body, server.Body)
		}
	}
}

// TestEmptyLengthInEvents: a server may refuse in its stream, before the client has anything.
func TestEmptyLengthInEvents(t *testing.T) {
	g := testGateway(func(o *Options) { o.Models[0].Answers.ContextError = contract.ContextEmptyLength })
	event := `data: {"error":{"message":"too long","param":"input_tokens","code":400}}` + "\n\n"
	x := forwarded(t, g, "/v1/chat/completions", chatBody(false))
	if got := outcome(t, x, []string{event, ""}); !strings.HasPrefix(got, `200 {"id"`) {
		t.Errorf("got %s", got)
	}
	events := strings.SplitAfter(answerOf("<|channel|>final<|message|>Hi<|return|>"), "\n\n")
	x = forwarded(t, g, "/v1/chat/completions", chatBody(true))
	if got := outcome(t, x, []string{strings.Join(events[:4], ""), event, ""}); !strings.Contains(got,
		`"code":"context_length_exceeded"`) {
		t.Errorf("got %s", got)
	}
}

// TestEmptyLengthByChannels: channel events are a form as well.
func TestEmptyLengthByChannels(t *testing.T) {
	g := testGateway(func(o *Options) {
		o.Models[0].Answers.ContextError, o.Models[0].Answers.Events = contract.ContextEmptyLength, contract.EventsChannels
	})
	body := strings.Replace(chatBody(true), "Hi", strings.Repeat("word ", 5000), 1)
	r := g.Begin("POST", "/v1/chat/completions").Request([]byte(body), Host{Now: testNow, ID: testID}).Reply
	if r == nil || r.Status != 200 || !strings.HasPrefix(string(r.Body), "event: done\n") ||
		!strings.Contains(string(r.Body), `"finish_reason":"length"`) {
		t.Errorf("%+v %s", r, r.Body)
	}
}

// TestEmptyLengthOfConversations: servers that take conversations refuse in their own words and with other statuses.
func TestEmptyLengthOfConversations(t *testing.T) {
	for status, refusal := range map[int]string{
		400: `{"object":"error","message":"This model's maximum context length is 32768 tokens. However, you requested 32818 ` +
			`tokens in the messages","type":"BadRequestError","param":null,"code":400}`,
		422: `{"error":"Input validation error: ` + "`inputs` tokens + `max_new_tokens`" +
			` must be <= 4096","error_type":"validation"}`,
	} {
		for path, want := range map[string]string{
			contract.ChatPath: `"finish_reason":"length"`, contract.ResponsesPath: `"reason":"max_output_tokens"`,
		} {
			g := conversing(func(m *contract.Model) { m.Answers.ContextError = contract.ContextEmptyLength })
			x := g.Begin("POST", path)
			x.Request([]byte(`{"model":"qwen","messages":[{"role":"user","content":"hi"}],"input":"hi"}`),
				Host{Now: 1_700_000_000_000, ID: "0123456789abcdef01234567"})
			x.ResponseHeaders(ResponseHead{Status: status, ContentType: "application/json"})
			a := x.ResponseBody([]byte(refusal), true)
			if a.Head == nil || a.Head.Status != 200 || !strings.Contains(string(a.Body), want) {
				t.Errorf("%s, %d: %+v %s", path, status, a.Head, a.Body)
			}
		}
	}
}
