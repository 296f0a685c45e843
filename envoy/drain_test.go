package envoy

import (
	"strings"
	"testing"
)

func TestRunningStreams(t *testing.T) {
	for _, tt := range []struct {
		name, stats string
		want        int
	}{
		{"none but the question", `{"name":"http.admin.downstream_rq_active","value":1},` +
			`{"name":"http.harmony.downstream_rq_active","value":0}`, 0},
		{"two listeners", `{"name":"http.admin.downstream_rq_active","value":1},{"name":"http.a.downstream_rq_active",` +
			`"value":2},{"name":"http.b.downstream_rq_active","value":3}`, 5},
		{"a listener called admin", `{"name":"http.admin.downstream_rq_active","value":3}`, 2},
		{
			"an answer that its client has not read to the end",
			`{"name":"http.admin.downstream_rq_active","value":1},{"name":"http.admin.downstream_cx_tx_bytes_buffered",` +
				`"value":9},` +
				`{"name":"http.harmony.downstream_cx_tx_bytes_buffered","value":70000}`, 1,
		},
		{"the page itself, half written", `{"name":"http.admin.downstream_rq_active","value":1},` +
			`{"name":"http.admin.downstream_cx_tx_bytes_buffered","value":9}`, 0},
		{"nothing at all", ``, 0},
	} {
		if got, err := runningStreams([]byte(`{"stats":[` + tt.stats + `]}`)); err != nil || got != tt.want {
			t.Errorf("%s: %d, %v, want %d", tt.name, got, err, tt.want)
		}
	}
	if _, err := runningStreams([]byte("no JSON")); err == nil {
		t.Error("what is no JSON is taken for it")
	}
}

func TestControlPlaneAddress(t *testing.T) {
	for _, tt := range []struct{ address, ca, want string }{
		{"unix:/run/harmony/xds.sock", "", `"path": "/run/harmony/xds.sock"`},
		{"10.0.0.5:18000", "", `"address": "10.0.0.5"`},
		{"unix:", "", "write its path"},
		{"unix:/run/xds.sock", "ca.pem", "leave the certificates out"},
		{"10.0.0.5", "", "is not host:port"},
		{"10.0.0.5:0", "", "is not host:port"},
	} {
		bootstrap, err := DiscoveryBootstrap(Discovery{ControlPlane: tt.address, Node: "n", CAFile: tt.ca})
		got := string(bootstrap)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.address, got, tt.want)
		}
	}
}
