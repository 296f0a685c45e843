package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/internal/filterfile/stub"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// takesCommands makes a control plane take commands at a socket.
func takesCommands(t *testing.T) func(o *testOptions) {
	t.Helper()
	return func(o *testOptions) {
		folder, err := os.MkdirTemp("", "control") // short enough for a socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(folder) })
		if o.Control, err = net.Listen("unix", filepath.Join(folder, "s")); err != nil {
			t.Fatal(err)
		}
	}
}

// command gives a command, and returns its status and its answer.
func (p *testServer) command(path string, filter []byte) (int, string) {
	p.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", p.options.Control.Addr().String())
		}}}
	response, err := client.Post("http://control"+path, "", bytes.NewReader(filter))
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// begins begins a rollout of the filter of a version to half of the Envoys.
func (p *testServer) begins(version, more string) {
	p.t.Helper()
	if code, text := p.command(beginPath+more, stub.Filter(version)); code != http.StatusOK {
		p.t.Fatalf("%d: %s", code, text)
	}
}

const beginPath = RolloutPath + "?share=0.5&for=1s&requests=1&rules=&hold=false"

// hasFilter reports whether an Envoy has the filter of a version.
func hasFilter(t *testing.T, e *fakeEnvoy, version string) bool {
	t.Helper()
	return e.resource(resource.ExtensionConfigType, "harmony") != nil &&
		strings.Contains(e.text(t, resource.ExtensionConfigType, "harmony"), string(stub.Filter(version)))
}

// startFleet runs a control plane that hands out the filter of version 1, and two Envoys.
func startFleet(t *testing.T) (*testServer, [2]*fakeEnvoy) {
	t.Helper()
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL), "filter.wasm", string(stub.Filter("1"))), handsOut, takesCommands(t))
	envoys := [2]*fakeEnvoy{startEnvoy(t, p.ads, "one"), startEnvoy(t, p.ads, "two")}
	eventually(t, "two Envoys are current", func() bool { return p.current() && len(p.Status().Envoys) == 2 })
	return p, envoys
}

// have waits until so many of two Envoys have the filter of a version.
func have(t *testing.T, envoys [2]*fakeEnvoy, version string, want int) {
	t.Helper()
	eventually(t, fmt.Sprintf("at %d Envoys: version %s", want, version), func() bool {
		n := 0
		for _, e := range envoys {
			if hasFilter(t, e, version) {
				n++
			}
		}
		return n == want
	})
}

// state waits for a state of the rollout, while both Envoys push that all requests went well.
func (p *testServer) state(want rollout.State) *Rollout {
	p.t.Helper()
	n := 0.0
	eventually(p.t, "the rollout is "+string(want), func() bool {
		for _, name := range []string{"one", "two"} {
			n++
			p.watch.Add(time.Now(), name, name, history.Families{{Name: rollout.ClassFamily, Samples: []history.Sample{{
				Labels: map[string]string{"envoy_response_code_class": "2"}, Value: n}}}})
		}
		r := p.Status().Rollout
		return r != nil && r.State == want
	})
	return p.Status().Rollout
}

// TestRollout: a new filter reaches one Envoy, then both, and stays, also over restarts, until the operator takes it
// back or the control plane's own filter changes.
func TestRollout(t *testing.T) {
	p, envoys := startFleet(t)
	p.begins("2", "")
	have(t, envoys, "2", 1)
	have(t, envoys, "1", 1)
	if r := p.Status().Rollout; r.State != rollout.Watching || r.Filter.Version != "2" || r.Old.Version != "1" ||
		r.Step != 1 || r.Envoys != 1 || p.Status().Filter.Version != "1" || p.Status().Control == "" {
		t.Errorf("%+v", r)
	}
	if code, text := p.command(beginPath, stub.Filter("3")); code != http.StatusConflict ||
		!strings.Contains(text, "a rollout of version 2 is under way") {
		t.Errorf("another one: %d: %s", code, text)
	}
	p.state(rollout.Done)
	have(t, envoys, "2", 2)
	eventually(t, "current", p.current)
	eventually(t, "the new filter is that of all", func() bool {
		f := p.Status().Filter
		return f.Version == "2" && f.Rollout && p.metric(`harmony_controlplane_rollouts_total{result="done"}`) == "1"
	})
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}

	good, err := os.ReadFile(p.file("config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("config.yaml", "models: [")
	p = start(t, p.folder, handsOut, takesCommands(t))
	for _, path := range []string{RolloutBackPath, RolloutOnPath} { // at once, and the file is never good
		if code, text := p.command(path, nil); code != http.StatusConflict ||
			path == RolloutBackPath && !strings.Contains(text, "no configuration is in force") {
			t.Errorf("%s without a configuration: %d: %s", path, code, text)
		}
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}

	p.write("config.yaml", string(good))
	p = start(t, p.folder, handsOut, takesCommands(t))
	envoys = [2]*fakeEnvoy{startEnvoy(t, p.ads, "one"), startEnvoy(t, p.ads, "two")}
	have(t, envoys, "2", 2)
	if code, text := p.command(RolloutBackPath, nil); code != http.StatusOK {
		t.Errorf("back: %d: %s", code, text)
	}
	have(t, envoys, "1", 2)
	if code, _ := p.command(RolloutBackPath, nil); code != http.StatusConflict {
		t.Errorf("back again: %d", code)
	}

	p.begins("3", "")
	have(t, envoys, "3", 1)
	p.write("filter.wasm", string(stub.Filter("4")))
	have(t, envoys, "4", 2)
	if r := p.Status().Rollout; r.State != rollout.TakenBack || !strings.Contains(r.Reason, "version 4") {
		t.Errorf("%+v", r)
	}
}

// TestRolloutSurvives: a control plane that restarts during a rollout goes on with it.
func TestRolloutSurvives(t *testing.T) {
	p, envoys := startFleet(t)
	p.begins("2", "&for=1h")
	have(t, envoys, "2", 1)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	p = start(t, p.folder, handsOut, takesCommands(t))
	again := [2]*fakeEnvoy{startEnvoy(t, p.ads, "one"), startEnvoy(t, p.ads, "two")}
	have(t, again, "2", 1)
	for i := range again {
		if hasFilter(t, envoys[i], "2") != hasFilter(t, again[i], "2") {
			t.Error("another Envoy has it now")
		}
	}
	if code, text := p.command(RolloutOnPath, nil); code != http.StatusOK {
		t.Errorf("on: %d: %s", code, text)
	}
	have(t, again, "2", 2)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	saved, err := filepath.Glob(p.file("state/filter-*.wasm"))
	if err != nil || len(saved) != 2 {
		t.Fatalf("%v, %v", saved, err)
	}
	for _, one := range saved {
		if text, _ := os.ReadFile(one); bytes.Equal(text, stub.Filter("2")) {
			os.Remove(one)
		}
	}
	p = start(t, p.folder, handsOut, takesCommands(t))
	p.ready()
	eventually(t, "the rollout is given up", func() bool { return p.Status().Rollout.State == rollout.TakenBack })
	if r := p.Status().Rollout; !strings.Contains(r.Reason, "its filter is lost") {
		t.Errorf("%+v", r)
	}
}

// TestRolloutRefused: what cannot be rolled out, and what an Envoy refuses.
func TestRolloutRefused(t *testing.T) {
	p, envoys := startFleet(t)
	for name, c := range map[string]struct {
		path   string
		filter []byte
		want   string
	}{
		"no filter":  {beginPath, []byte("text"), "is not a WebAssembly module"},
		"the same":   {beginPath, stub.Filter("1"), "have this filter already"},
		"no group":   {beginPath + "&group=canary", stub.Filter("2"), `no Envoy of the group "canary"`},
		"no share":   {RolloutPath + "?share=2&for=1s&requests=1&hold=false", stub.Filter("2"), "is not a share"},
		"no time":    {RolloutPath + "?share=1&for=1&requests=1&hold=false", stub.Filter("2"), "missing unit"},
		"no rollout": {RolloutOnPath, nil, "no rollout is under way"},
		"too large":  {beginPath, bytes.Repeat([]byte("x"), 17<<20), "does not come whole"},
	} {
		if code, text := p.command(c.path, c.filter); code != http.StatusConflict || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d: %.300s", name, code, text)
		}
	}
	for _, e := range envoys {
		e.refuses(resource.ExtensionConfigType)
	}
	p.begins("2", "")
	r := p.state(rollout.TakenBack)
	if !strings.Contains(r.Reason, "refuses it: not here") {
		t.Errorf("%+v", r)
	}
	have(t, envoys, "1", 2)
	for _, e := range envoys { // one of them has refused what it has now; that is not the next filter's fault
		e.refuses("")
	}
	p.begins("5", "")
	have(t, envoys, "5", 1)
	if r := p.Status().Rollout; r.State == rollout.TakenBack {
		t.Errorf("%+v", r)
	}
	if got := p.metric(`harmony_controlplane_rollouts_total{result="taken_back"}`); got != "1" {
		t.Errorf("the metric is %q", got)
	}
}
