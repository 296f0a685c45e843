//go:build e2e

package responses

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// relayed is an answer whose server fails the first time.
type relayed struct {
	fault  sim.Fault
	stream bool
	// status is the response's, or empty for a stream that ends without an event. asked is how often the server is asked.
	status string
	asked  int
	// cut is the text of the item that was open when the server died, and is closed as incomplete.
	cut string
}

// TestRelay lets the model's server die at several moments of answers that are not stored.
func TestRelay(t *testing.T) {
	early, late := sim.Fault{Kind: sim.FaultReset, After: 1}, sim.Fault{Kind: sim.FaultReset, After: 5}
	last := sim.Fault{Kind: sim.FaultReset, After: 12}
	cases := map[string][]relayed{
		"off": {{late, true, "", 1, ""}},
		"finish": {{late, true, "failed", 1, "a thought"}, {last, true, "failed", 1, "the"},
			{early, true, "failed", 1, ""}},
		"retry": {
			{late, true, "failed", 1, "a thought"}, {early, true, "completed", 2, ""}, {late, false, "completed", 2, ""},
			{sim.Fault{}, true, "completed", 1, ""}, {sim.Fault{Kind: sim.FaultErrorEvent, After: 1}, true, "completed", 2, ""},
		},
	}
	answer := lab.Tokens("<|channel|>analysis<|message|>a thought<|end|><|start|>assistant<|channel|>final<|message|>" +
		"the answer<|return|>")
	for _, host := range []string{"envoy", "wazero"} {
		for relay, list := range cases {
			t.Run(host+" "+relay, func(t *testing.T) {
				var lines []sim.Line
				for i := range list {
					lines = append(lines, sim.Line{Tokens: answer, Fault: &list[i].fault})
					if list[i].asked == 2 {
						lines = append(lines, sim.Line{Tokens: answer})
					}
				}
				g := start(t, host, "", "", sim.Options{Keep: 100, Script: sim.NewScript(lines...)}, "relay: "+relay)
				for i := range list {
					before := len(g.Prompts())
					g.relay(&list[i])
					if n := len(g.Prompts()) - before; n != list[i].asked {
						t.Errorf("%+v: the server was asked %d times, want %d", list[i], n, list[i].asked)
					}
				}
			})
		}
	}
}

// relay asks once and checks how the answer ends.
func (g *gateway) relay(tt *relayed) {
	g.T.Helper()
	if tt.status == "" {
		a := lab.Do(g.Client, "POST", g.URL+"/v1/responses", nil,
			strings.NewReader(g.Body(`"input":"hi","store":false,"stream":true`)))
		if strings.Contains(a.Body, "event: response.failed") || a.Err == nil && a.Status == 200 {
			g.T.Errorf("%+v: the stream ends with %v: %s", tt, a.Err, a.Body)
		}
		return
	}
	var r *response
	if tt.stream {
		r, _ = g.Stream(`"input":"hi","store":false`)
	} else {
		r = g.Create(`"input":"hi","store":false`)
	}
	switch {
	case r.Status != tt.status || r.Store,
		tt.status == "completed" && r.Text() != "the answer",
		tt.status == "failed" && (r.Error == nil || r.Error.Code != "server_error"):
		g.T.Errorf("%+v: %+v", tt, r)
	}
	cut := ""
	for _, item := range r.Output {
		if item.Status == "incomplete" && len(item.Content) == 1 {
			cut += item.Content[0].Text
		}
	}
	if cut != tt.cut {
		g.T.Errorf("%+v: the item that was cut has %q: %+v", tt, cut, r)
	}
}
