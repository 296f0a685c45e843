//go:build e2e

package controlplane

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestControlPlaneVocabulary shows that a server with another vocabulary gets no requests, and that harmony status says
// why.
func TestControlPlaneVocabulary(t *testing.T) {
	var servers [2]*sim.Server
	var urls []string
	for i := range servers {
		servers[i] = sim.New(sim.Options{Models: []string{lab.Model}, OtherVocabulary: i == 1})
		t.Cleanup(servers[i].Close)
		url, err := servers[i].Start("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, url)
	}
	p := startPlane(t, planeSettings{servers: urls, envoys: 1})
	p.await("one server has another vocabulary", func(s server.Status) bool {
		states := map[string]pools.State{}
		for _, one := range s.Pools[0].Servers {
			states[one.URL] = one.State
		}
		return states[urls[0]] == pools.Ready && states[urls[1]] == pools.NotReady
	})
	before := len(lab.Completions(servers[1])) // it may have had requests before it was asked
	client := lab.HTTP1(t)
	for range 6 {
		a := lab.Ask(client, p.urls[0]+lab.ChatPath, lab.ChatBody(lab.Model, "Hello"))
		if a.Status != 200 || !strings.Contains(a.Body, "You said: Hello") {
			t.Fatalf("got %+v", a)
		}
	}
	if n := len(lab.Completions(servers[1])) - before; n != 0 || len(lab.Completions(servers[0])) < 6 {
		t.Errorf("the server with another vocabulary got %d requests", n)
	}
	status := lab.RunHarmony(t, nil, "status", "--address", p.status)
	if !status.Ended(lab.ReadyLimit) || status.ExitCode(t) != 0 {
		t.Fatalf("harmony status: %v\n%s", status.Err, &status.Stderr)
	}
	out := status.Stdout.String()
	for _, want := range []string{
		"not ready",
		"vLLM " + sim.Version + ", context: 131072 tokens, vocabulary: same",
		"vLLM " + sim.Version + ", context: 131072 tokens, vocabulary: other",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}
