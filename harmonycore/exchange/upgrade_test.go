package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
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
			x := testGateway(func(o *Options) { o.Passthrough = true }).BeginUpgrade(tt.method, tt.path, "websocket")
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
	if x := Misconfigured().BeginUpgrade("GET", "/v1/responses", "websocket"); x == nil || x.RequestHeaders().Reply.Status != 503 {
		t.Error("a gateway without a configuration lets it through")
	}
}

// TestUpgradeToService: the responses service gets the connections of the API's WebSocket mode, if it serves them, and
// nothing else by an upgrade.
func TestUpgradeToService(t *testing.T) {
	for _, tt := range []struct {
		method, path, protocol, header string
		off                            bool
		status                         int // 0: it goes to the service
	}{
		{method: "GET", path: "/v1/responses", protocol: "websocket"},
		{method: "GET", path: "/v1/responses?model=x", protocol: "websocket"},
		{method: "GET", path: "/v1/responses", protocol: "websocket", off: true, status: 426},
		{method: "GET", path: "/v1/responses", protocol: "websocket", header: contract.ServiceDeclined, status: 426},
		{method: "GET", path: "/v1/responses", protocol: "other", status: 426},
		{method: "POST", path: "/v1/responses", protocol: "websocket", status: 426},
		{method: "GET", path: "/v1/responses/resp_1", protocol: "websocket", status: 426},
		{method: "GET", path: "/v1/conversations", protocol: "websocket", status: 426},
		{method: "GET", path: "/v1/chat/completions", protocol: "websocket", status: 426},
	} {
		for _, whole := range []bool{false, true} {
			x := testGateway(func(o *Options) {
				o.ResponsesService = contract.ResponsesService{Pool: "service", Stores: true, WebSocket: !tt.off}
			}).BeginUpgrade(tt.method, tt.path, tt.protocol)
			if tt.header != "" {
				x.Header(contract.ServiceHeader, tt.header)
			}
			pool, reply := "", (*Reply)(nil)
			if whole {
				action := x.Request(nil, Host{Now: testNow, ID: testID})
				if reply = action.Reply; action.Forward != nil {
					pool = action.Forward.Pool
				}
			} else {
				head := x.RequestHeaders()
				pool, reply = head.Pool, head.Reply
			}
			switch {
			case tt.status == 0 && (pool != "service" || reply != nil || !x.PassesThrough() || !x.Report().Routed):
				t.Errorf("%+v, whole: %v: pool %q, reply %+v", tt, whole, pool, reply)
			case tt.status != 0 && (pool != "" || reply == nil || reply.Status != tt.status || x.Report().Routed):
				t.Errorf("%+v, whole: %v: pool %q, reply %+v", tt, whole, pool, reply)
			}
		}
	}
}
