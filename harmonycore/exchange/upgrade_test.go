package exchange

import (
	"strings"
	"testing"
)

// TestUpgrade: another protocol is refused before a body could come, at every path that is read here, and nowhere else.
func TestUpgrade(t *testing.T) {
	for _, tt := range []struct {
		method, path string
		status       int // 0: it is left alone
	}{
		{"GET", "/v1/responses", 426}, {"GET", "/v1/responses?model=x", 426}, {"POST", "/v1/responses", 426},
		{"GET", "/v1/chat/completions", 426},
		{"POST", "/v1/completions", 426}, {"GET", "/v1/models", 426}, {"POST", "/tokenize", 426},
		{"GET", "/v1/..%2fmetrics", 400},
		{"GET", "/v1/realtime", 0}, {"GET", "/", 0}, {"GET", "/ws", 0}, {"PUT", "/v1/responses", 0},
	} {
		for _, whole := range []bool{false, true} {
			x := testGateway(func(o *Options) { o.Passthrough = true }).BeginUpgrade(tt.method, tt.path)
			if tt.status == 0 {
				if x != nil {
					t.Errorf("%s %s is not left alone", tt.method, tt.path)
				}
				continue
			}
			if x == nil {
				t.Errorf("%s %s is left alone", tt.method, tt.path)
				continue
			}
			var reply *Reply
			if whole {
				reply = x.Request(nil, Host{Now: testNow, ID: testID}).Reply
			} else {
				reply = x.RequestHeaders().Reply
			}
			if reply == nil || reply.Status != tt.status ||
				(tt.status == 426) != strings.Contains(string(reply.Body), `"code":"websocket_not_supported"`) ||
				(tt.status == 426) != (reply.Upgrade == "HTTP/1.1") {
				t.Errorf("%s %s, whole: %v: got %+v", tt.method, tt.path, whole, reply)
			}
		}
	}
	if x := Misconfigured().BeginUpgrade("GET", "/v1/responses"); x == nil || x.RequestHeaders().Reply.Status != 503 {
		t.Error("a gateway without a configuration lets it through")
	}
}
