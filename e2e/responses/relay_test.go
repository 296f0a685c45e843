//go:build e2e

package responses

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestRelay lets the model's server die at several moments of answers that are not stored.
func TestRelay(t *testing.T) {
	answer := lab.Tokens("<|channel|>analysis<|message|>a thought<|end|><|start|>assistant<|channel|>final<|message|>the answer<|return|>")
	for _, host := range []string{"envoy", "wazero"} {
		for _, tt := range []struct {
			relay  string
			fault  sim.Fault
			stream bool
			// status is the response's, or empty for a stream that ends without an event. asked is how often the server is
			// asked.
			status string
			asked  int
		}{
			{"off", sim.Fault{Kind: sim.FaultReset, After: 6}, true, "", 1},
			{"finish", sim.Fault{Kind: sim.FaultReset, After: 6}, true, "failed", 1},
			{"retry", sim.Fault{Kind: sim.FaultReset, After: 6}, true, "failed", 1},
			{"retry", sim.Fault{Kind: sim.FaultReset, After: 1}, true, "completed", 2},
			{"retry", sim.Fault{Kind: sim.FaultErrorEvent, After: 1}, true, "completed", 2},
			{"retry", sim.Fault{Kind: sim.FaultReset, After: 6}, false, "completed", 2},
			{"retry", sim.Fault{}, true, "completed", 1},
		} {
			t.Run(host+" "+tt.relay+" "+string(tt.fault.Kind), func(t *testing.T) {
				g := start(t, host, "", "", sim.Options{Keep: 100, Script: sim.NewScript(
					sim.Line{Tokens: answer, Fault: &tt.fault}, sim.Line{Tokens: answer})}, "relay: "+tt.relay)
				if tt.status == "" {
					a := lab.Do(g.client, "POST", g.url+"/v1/responses", nil, strings.NewReader(g.body(`"input":"hi","store":false,"stream":true`)))
					if strings.Contains(a.Body, "event: response.failed") || a.Err == nil {
						t.Errorf("the stream ends with %v: %s", a.Err, a.Body)
					}
					return
				}
				var r *response
				if tt.stream {
					r, _ = g.stream(`"input":"hi","store":false`)
				} else {
					r = g.create(`"input":"hi","store":false`)
				}
				if r.Status != tt.status || r.Store {
					t.Errorf("%+v", r)
				}
				if tt.status == "completed" && r.text() != "the answer" {
					t.Errorf("%+v", r)
				}
				if tt.status == "failed" && (r.Error == nil || r.Error.Code != "server_error") {
					t.Errorf("%+v", r)
				}
				if n := len(g.prompts()); n != tt.asked {
					t.Errorf("the server was asked %d times, want %d", n, tt.asked)
				}
			})
		}
	}
}
