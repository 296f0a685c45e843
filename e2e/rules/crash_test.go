//go:build e2e

package rules

import (
	"net/http"
	"strings"
	"testing"
	"time"

	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestDeadlyCalls: calls that end the whole of Envoy, so that a filter must never make them. Calls that look as
// dangerous and are not stand beside them.
func TestDeadlyCalls(t *testing.T) {
	testedEnvoy(t)
	for _, tt := range []struct {
		name     string
		scripts  []string // one a request
		interval time.Duration
		dies     bool
	}{
		{"reply in log", []string{"log: reply 418 tea"}, 0, true},
		{"reply in done", []string{"done: reply 418 tea"}, 0, true},
		{"reply in delete", []string{"delete: reply 418 tea"}, 0, true},
		{"close 0 in log", []string{"log: close 0"}, 0, true},
		{"close 1 in log", []string{"log: close 1"}, 0, true},
		{"close 0 in done", []string{"done: close 0"}, 0, true},
		{"close 1 in delete", []string{"delete: close 1"}, 0, true},
		{"resume in log", []string{"log: resume req, resume resp"}, 0, false},
		{"resume in done", []string{"done: resume req, resume resp"}, 0, false},
		{"resume in delete", []string{"delete: resume req, resume resp"}, 0, false},
		// A division by zero: so short an interval leaves no room for its jitter.
		{"reload interval of 1 ms", []string{"reqh: panic", "reqh: count"}, time.Millisecond, true},
		{"reload interval of 2 ms", []string{"reqh: panic", "reqh: count"}, 2 * time.Millisecond, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := newRuleServer(t, "server", false)
			server.serve(&ruleRun{rule: &rule{}, board: newBoard(""), said: map[string][]string{}})
			setup := hosts.ProbeSetup{Server: server.port, Other: server.port, Closed: server.port,
				Failure: wasmv3.FailurePolicy_FAIL_RELOAD, ReloadInterval: tt.interval}
			r, err := setup.Resources()
			if err != nil {
				t.Fatal(err)
			}
			c := config.Default()
			c.Envoy.Concurrency = 1
			host, err := hosts.EnvoyWith(hosts.Setup{Config: c}, r)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(host.Stop)
			client := &http.Client{Timeout: ruleWait, Transport: &http.Transport{DisableKeepAlives: true}}
			served := false
			for _, script := range append(tt.scripts, "reqh: count", "reqh: count") {
				request, err := http.NewRequest(http.MethodGet, host.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("x-probe-id", "a")
				request.Header.Set("x-probe", script)
				response, err := client.Do(request)
				if served = err == nil; served {
					response.Body.Close()
				}
			}
			if !tt.dies {
				if !served {
					t.Errorf("no answer any more: %v", host.Process.Err())
				}
				return
			}
			select {
			case <-host.Process.Done():
				if err := host.Process.Err(); !strings.Contains(err.Error(), "signal: ") {
					t.Error(err)
				}
			case <-time.After(ruleWait):
				t.Error("Envoy lives")
			}
		})
	}
}
