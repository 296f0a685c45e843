package exchange

import (
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestModelsByVersion: a client that names a version of Anthropic's API gets that API's list, and that API's errors.
func TestModelsByVersion(t *testing.T) {
	g := testGateway(func(o *Options) { o.Models[0].Aliases = []string{"claude-oss", "claude-*"} })
	const model = `{"type":"model","id":"gpt-oss-120b","display_name":"gpt-oss-120b",` +
		`"created_at":"2025-08-05T00:00:00Z","lifecycle":"active","max_input_tokens":4096}`
	for _, tt := range []struct {
		path   string
		status int
		want   string
	}{
		{"/v1/models?limit=1000", 200, `{"data":[` + model + `,` + strings.ReplaceAll(model, "gpt-oss-120b", "claude-oss") +
			`],"has_more":false,"first_id":"gpt-oss-120b","last_id":"claude-oss"}`},
		{"/v1/models/gpt-oss-120b", 200, model},
		{"/v1/models/claude-oss", 200, strings.ReplaceAll(model, "gpt-oss-120b", "claude-oss")},
		{"/v1/models/none", 404, `{"type":"error","error":{"type":"not_found_error",` +
			`"message":"The model 'none' does not exist here. GET /v1/models lists those that do."},"request_id":"r1"}`},
	} {
		x := g.Begin("GET", tt.path)
		x.Header("x-request-id", "r1")
		x.Header("anthropic-version", "2023-06-01")
		x.Header("x-request-id", strings.Repeat("r", maxRequestID+1))
		a := x.Request(nil, Host{Now: testNow, ID: testID})
		if a.Reply == nil || a.Reply.Status != tt.status || string(a.Reply.Body) != tt.want {
			t.Errorf("%s: %+v, want %s", tt.path, a.Reply, tt.want)
		}
		if x.RequestID() != "r1" {
			t.Errorf("%s: the request is named %q", tt.path, x.RequestID())
		}
		x = g.Begin("GET", tt.path)
		x.Header("x-request-id", "r1")
		if a := x.Request(nil, Host{Now: testNow, ID: testID}); strings.Contains(string(a.Reply.Body), `"type":"model"`) ||
			strings.Contains(string(a.Reply.Body), `"type":"error"`) || x.RequestID() != "" {
			t.Errorf("%s without a version: %s", tt.path, a.Reply.Body)
		}
	}
}

// TestTooLongAtServer: the number of tokens comes from the server's words where they have one.
func TestTooLongAtServer(t *testing.T) {
	x := &Exchange{form: anthropicForm}
	for message, want := range map[string]string{
		"This model's maximum context length is 100 tokens. However, you requested 120 tokens.": "120",
		"no number": "101", "99": "101", "9999999999999999999999": "999999999", "id 12345678901 of 250": "123456789",
	} {
		if got := x.tooLongAtServer(message, 100); got != "prompt is too long: "+want+" tokens > 100 maximum" {
			t.Errorf("%q: %s", message, got)
		}
	}
	if got := (&Exchange{}).tooLongAtServer("as it is", 100); got != "as it is" {
		t.Errorf("for OpenAI's clients: %s", got)
	}
}

// TestLocalRepliesByForm: what the proxy says in OpenAI's form, Anthropic's clients get in theirs.
func TestLocalRepliesByForm(t *testing.T) {
	const body = `{"error":{"message":"No server.","type":"server_error","param":null,"code":"server_unavailable"}}`
	for status, kind := range map[int]string{503: "api_error", 429: "rate_limit_error", 504: "timeout_error"} {
		x := testGateway(func(o *Options) { o.Passthrough = true }).Begin("POST", contract.ChatPath)
		x.form = anthropicForm
		x.Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID})
		head := ResponseHead{Status: status, ContentType: "application/json", Local: true}
		if a := x.ResponseHeaders(head); !a.Hold {
			t.Fatalf("%d: %+v", status, a)
		}
		a := x.ResponseBody([]byte(body), true)
		want := `{"type":"error","error":{"type":"` + kind + `","message":"No server."}}`
		if a.Head == nil || a.Head.Status != status || string(a.Body) != want {
			t.Errorf("%d: %+v %s, want %s", status, a.Head, a.Body, want)
		}
	}
}

// TestCurableAtServers: what a server does not take is said in words by which Anthropic's clients leave it out. Others
// get the server's own.
func TestCurableAtServers(t *testing.T) {
	const request = `{"model":"qwen","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	for _, tt := range []struct {
		status              int
		body, message, chat string
	}{
		{400, `{"error":{"message":"Qwen3-8B is not a multimodal model"}}`,
			"Could not process image: Qwen3-8B is not a multimodal model", `400 {"error":{"message":"Qwen3-8B is`},
		{500, `{"error":{"message":"image input is not supported - hint: mmproj"}}`,
			"Could not process image: image input is not supported - hint: mmproj", `500 {"error":{"message":"image input`},
		{404, `{"error":{"message":"No endpoints found that support image input"}}`,
			"Could not process image: No endpoints found that support image input", `502 {"error":{"message":"No endpoints`},
		{400, `{"error":{"message":"Not here.","param":"reasoning_effort"}}`,
			"This model does not support the effort parameter: Not here.", `400 {"error":{"message":"Not here.`},
		{400, `{"error":{"message":"This response_format type is unavailable now"}}`,
			"output_config.format: Extra inputs are not permitted: This response_format type is unavailable now",
			`400 {"error":{"message":"This response_format`},
		{500, `{"error":{"message":"System message must be at the beginning."}}`,
			"The role 'system' is not supported within a conversation: System message must be at the beginning.",
			`500 {"error":{"message":"System message`},
		{400, `{"error":{"message":"A bad thing."}}`, "A bad thing.", `400 {"error":{"message":"A bad thing.`},
	} {
		answer := func(path string) string {
			x := forwarded(t, conversing(nil), path, request)
			if a := x.ResponseHeaders(ResponseHead{Status: tt.status, ContentType: "application/json"}); !a.Hold {
				t.Fatalf("%d: %+v", tt.status, a)
			}
			a := x.ResponseBody([]byte(tt.body), true)
			if a.Head == nil {
				t.Fatalf("%d: %+v", tt.status, a)
			}
			return strconv.Itoa(a.Head.Status) + " " + string(a.Body)
		}
		want := `400 {"type":"error","error":{"type":"invalid_request_error","message":"` + tt.message + `"}}`
		if got := answer(contract.MessagesPath); got != want {
			t.Errorf("%d %s: %s, want %s", tt.status, tt.body, got, want)
		}
		if got := answer(contract.ChatPath); !strings.HasPrefix(got, tt.chat) {
			t.Errorf("Chat, %d %s: %s, want %s", tt.status, tt.body, got, tt.chat)
		}
	}
}
