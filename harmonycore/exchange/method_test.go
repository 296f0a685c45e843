package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestOtherMethods: a path that is served with one method only says so, in the form of its API. Another server may serve
// the others.
func TestOtherMethods(t *testing.T) {
	for _, tt := range []struct{ method, path, allow, form string }{
		{"GET", "/v1/chat/completions", "POST", `{"error":{"message":"This URL takes POST requests only."`},
		{"PUT", "/v1/chat/completions?x=y", "POST", `{"error":{`}, {"HEAD", "/v1/responses", "POST", `{"error":{`},
		{"GET", "/v1/messages", "POST", `{"type":"error","error":{"type":"invalid_request_error"`},
		{"PUT", "/v1/messages/count_tokens", "POST", `{"type":"error","error":{"type":"invalid_request_error"`},
		{"POST", "/v1/models", "GET", `{"error":{`}, {"GET", "/tokenize", "POST", `{"error":{`},
		{"POST", "/tokenizer_info", "GET", `{"error":{`}, {"DELETE", "/v1/completions", "POST", `{"error":{`},
		{"TRACE", "/v1/responses", "POST", `{"error":{`},
		{"OPTIONS", "/v1/chat/completions", "", ""}, {"GET", "/v1/responses/compact/", "", ""},
		{"PUT", "/v1/conversations", "", ""}, {"PATCH", "/v1/chat/completions/x", "", ""}, {"GET", "/v1/embeddings", "", ""},
	} {
		x := testGateway(nil).Begin(tt.method, tt.path)
		if tt.allow == "" {
			if x != nil {
				t.Errorf("%s %s is not left alone", tt.method, tt.path)
			}
			continue
		}
		if x == nil {
			t.Errorf("%s %s is left alone", tt.method, tt.path)
			continue
		}
		r := x.RequestHeaders().Reply
		if r == nil || r.Status != 405 || !strings.HasPrefix(string(r.Body), tt.form) || len(r.Headers) != 1 ||
			r.Headers[0] != (Header{"allow", tt.allow}) {
			t.Errorf("%s %s: %+v", tt.method, tt.path, r)
		}
		if openai := strings.HasPrefix(tt.form, `{"error"`); openai != strings.Contains(string(r.Body),
			`"code":"`+contract.CodeMethodNotSupported+`"`) || x.Report().API != apiOther {
			t.Errorf("%s %s: %s", tt.method, tt.path, r.Body)
		}
		if other := testGateway(func(o *Options) { o.Passthrough = true }).Begin(tt.method, tt.path); other != nil {
			if _, refused := other.endpoint.(*refusal); refused {
				t.Errorf("%s %s is refused beside another server", tt.method, tt.path)
			}
		}
	}
}

// TestOtherMethodsOfStrangers: who has no key does not learn what is served.
func TestOtherMethodsOfStrangers(t *testing.T) {
	x := testGateway(func(o *Options) {
		o.Clients.By, o.Clients.Required = contract.ClientsByKey, true
	}).Begin("GET", "/v1/chat/completions")
	if r := x.RequestHeaders().Reply; r == nil || r.Status != 401 {
		t.Errorf("%+v", r)
	}
}
