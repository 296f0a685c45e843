package exchange

import (
	"strings"
	"testing"
)

// TestMisconfigured: whatever a gateway may be asked for, with a body or without, is answered at once; the rest of what
// a proxy serves is left alone.
func TestMisconfigured(t *testing.T) {
	const want = `{"error":{"message":"The gateway is misconfigured. Its operator finds the reason in its log.",` +
		`"type":"server_error","param":null,"code":"gateway_misconfigured"}}`
	for _, tt := range []struct{ method, path, api string }{
		{"POST", "/v1/chat/completions", "chat"}, {"POST", "/v1/responses?x=1", "responses"},
		{"GET", "/v1/responses/resp_1", "responses"},
		{"POST", "/v1/conversations", "responses"}, {"POST", "/v1/completions", "completions"},
		{"POST", "/generate", "completions"}, {"POST", "/api/chat", "completions"},
		{"POST", "/tokenize", "tokens"}, {"GET", "/v1/models", "other"}, {"POST", "/v1/embeddings", "other"},
	} {
		x := Misconfigured().Begin(tt.method, tt.path)
		if x == nil {
			t.Errorf("%s %s is let through", tt.method, tt.path)
			continue
		}
		head := x.RequestHeaders()
		if head.Hold || head.Pool != "" || head.Reply == nil || head.Reply.Status != 503 || string(head.Reply.Body) != want {
			t.Errorf("%s %s: %+v", tt.method, tt.path, head)
		}
		if !x.PassesThrough() || x.Report().API != tt.api || x.Report().Translated {
			t.Errorf("%s %s: alone %t, %+v", tt.method, tt.path, x.PassesThrough(), x.Report())
		}
		bodyless := Misconfigured().Begin(tt.method, tt.path).Request(nil, Host{Now: testNow, ID: testID})
		if bodyless.Forward != nil || bodyless.Reply == nil || string(bodyless.Reply.Body) != want {
			t.Errorf("%s %s without a body: %+v", tt.method, tt.path, bodyless)
		}
	}
	for _, path := range []string{"/", "/metrics", "/v2/chat", "/" + strings.Repeat("x", 1000)} {
		if Misconfigured().Begin("GET", path) != nil {
			t.Errorf("%s is answered", path)
		}
	}
}
