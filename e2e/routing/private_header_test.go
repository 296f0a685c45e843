//go:build e2e

package routing

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestPrivateHeader: a header by which clients could reach into a server never gets to it. Servers of other kinds get
// it, as they get every header. The requests come one after another, and llama.cpp closes a connection that is used
// again.
func TestPrivateHeader(t *testing.T) {
	const name = "x-conversation-id"
	for kind, want := range map[string]string{sim.LlamaCPP: "", sim.VLLM: "somebody"} {
		c, gpu := oneModelOf(t, sim.Options{Kind: kind})
		for host, base := range map[string]string{"envoy": lab.RunEnvoy(t, c).URL, "wazero": lab.RunWazero(t, c).URL} {
			t.Run(kind+"/"+host, func(t *testing.T) {
				before := len(lab.Completions(gpu))
				for range 3 {
					if a := lab.AskChat(lab.HTTP1(t), base, name, "somebody"); a.Err != nil || a.Status != 200 {
						t.Fatalf("got %+v", a)
					}
				}
				got := lab.Completions(gpu)[before:]
				if len(got) != 3 {
					t.Fatalf("the server got %d requests, want 3", len(got))
				}
				for _, r := range got {
					if r.Header.Get(name) != want {
						t.Errorf("the server got %s: %q, want %q", name, r.Header.Get(name), want)
					}
				}
			})
		}
	}
}
