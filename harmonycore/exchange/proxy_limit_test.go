package exchange

import (
	"strings"
	"testing"
)

// TestProxyLimit: a proxy that is not configured by us refuses bodies that the gateway would take; the error says whose
// limit it is.
func TestProxyLimit(t *testing.T) {
	for received, want := range map[int]string{
		1 << 20: "per_connection_buffer_limit_bytes", testGateway(nil).options.BodyLimit + 1: "larger than the limit of ",
	} {
		x := testGateway(nil).Begin("POST", "/v1/chat/completions")
		a := x.ResponseHeaders(ResponseHead{Status: 413, ContentType: "text/plain", Local: true, Received: received})
		if !a.Hold {
			t.Fatalf("the headers go on: %+v", a)
		}
		a = x.ResponseBody([]byte("Payload Too Large"), true)
		if body := string(a.Body); !strings.Contains(body, want) || !strings.Contains(body, `"code":"request_too_large"`) {
			t.Errorf("after %d bytes: %s", received, body)
		}
	}
}
