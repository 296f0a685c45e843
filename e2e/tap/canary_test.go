//go:build e2e

package tap

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// The canaries: words of a prompt, of a query and of an answer.
const (
	asked    = "kanarienvogel"
	queried  = "rotkehlchen"
	answered = "zaunkoenig"
)

// TestNoTextElsewhere: texts of requests come to the recorder if they were asked for, and to no other place: not into
// Envoy's log, which says all that it can, not into the access log, the statistics or the dump of the configuration.
// The key is in no place that does not show clients' headers.
func TestNoTextElsewhere(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	for all, want := range map[string]bool{
		contract.TapNone: false, contract.TapSummary: false, contract.TapEverything: true} {
		t.Run(all, func(t *testing.T) {
			_, url := lab.RunSim(t, sim.Options{Script: sim.NewScript(
				sim.Line{Match: asked, Tokens: lab.Tokens("<|channel|>analysis<|message|>" + answered + "<|end|>" +
					"<|start|>assistant<|channel|>final<|message|>" + answered + "<|return|>")})})
			r := runRecorder(t)
			c := tappedModel(url, r.URL, all)
			c.AccessLog = filepath.Join(t.TempDir(), "access.json")
			var said lab.Output
			p := startTracing(t, hosts.Setup{Config: c}, &said)
			ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
			defer cancel()
			address, err := p.Listener(ctx, "harmony")
			if err != nil {
				t.Fatal(err)
			}
			h := &hosts.Host{URL: "http://" + address}
			client := lab.HTTP1(t)
			bodies := []string{lab.ChatBody(lab.Model, "Hi "+asked), lab.ChatBody("other", asked), `{"` + asked,
				`{"model":"` + lab.Model + `","messages":[{"role":"` + asked + `"}]}`}
			for _, body := range bodies {
				for _, shown := range []string{"", "not the key"} {
					a := ask(client, h, lab.ChatPath+"?"+queried, body, shown)
					if a.Err != nil || body == bodies[0] && !strings.Contains(a.Body, answered) {
						t.Errorf("%+v", a)
					}
				}
			}
			if all != contract.TapNone {
				r.wait("the ends", func() bool { return len(r.ended) == 2*len(bodies) })
			}
			for _, word := range []string{asked, answered} {
				if got := strings.Contains(string(r.bodies), word); got != want {
					t.Errorf("%s: the recorder got %s: %v", all, word, got)
				}
			}
			if strings.Contains(string(r.bodies), queried) || all == contract.TapNone && r.calls > 0 {
				t.Errorf("%d calls, the query is in %q", r.calls, r.bodies)
			}
			places := map[string]string{}
			for _, page := range []string{"/stats", "/stats/prometheus", "/config_dump"} {
				text, err := p.Get(ctx, page)
				if err != nil {
					t.Fatal(err)
				}
				places[page] = string(text)
			}
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
			log, err := os.ReadFile(c.AccessLog)
			if err != nil {
				t.Fatal(err)
			}
			places["access log"] = string(log)
			for name, text := range places {
				if strings.Contains(text, key) || len(text) < 100 {
					t.Errorf("%s has the key, or nothing", name)
				}
			}
			places["log"] = said.String()
			if !strings.Contains(places["log"], "[trace][http]") {
				t.Error("Envoy's log is not there")
			}
			for name, text := range places {
				for _, word := range []string{asked, answered} {
					if at := strings.Index(text, word); at >= 0 {
						t.Errorf("%s has %s: %s", name, word, text[max(0, at-300):at+20])
					}
				}
			}
		})
	}
}

// startTracing starts an Envoy that logs all that it can.
func startTracing(t *testing.T, s hosts.Setup, log *lab.Output) *envoy.Process {
	t.Helper()
	r, err := hosts.Resources(s)
	if err != nil {
		t.Fatal(err)
	}
	bootstrap, err := envoy.Bootstrap(r, netip.MustParseAddrPort("127.0.0.1:0"), netip.AddrPort{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	p, err := envoy.Start(ctx, envoy.Options{Path: lab.Tool(t, "ENVOY"), Bootstrap: bootstrap, Concurrency: 1,
		LogLevel: "trace", ReadyTimeout: lab.Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	p.PassLog(log)
	return p
}
