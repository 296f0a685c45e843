//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestClientHeadersStayHere: what clients ask of the gateway itself reaches no Harmony server, and stays on a request that
// is none of ours.
func TestClientHeadersStayHere(t *testing.T) {
	gpu, url := runSim(t, sim.Options{})
	other, otherURL := runSim(t, sim.Options{AnyPrompt: true, Models: []string{"other"}})
	c := oneModel(url)
	c.Passthrough = otherURL
	values := map[string]string{contract.StrictHeader: "0", contract.EventsHeader: "chunks"}
	on := map[string]string{"envoy": runEnvoy(t, c).URL, "wazero": runWazero(t, c).URL, "native": runNative(t, c).URL}
	for name, base := range on {
		t.Run(name, func(t *testing.T) {
			client := http1(t)
			header := http.Header{}
			for name, value := range values {
				header.Set(name, value)
			}
			post := func(path, body string) {
				a := do(client, http.MethodPost, base+path, header, strings.NewReader(body))
				if a.status != 200 {
					t.Fatalf("got %+v", a)
				}
			}
			post(chatPath, `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}]}`)
			post(rawPath, `{"model":"other","prompt":"Hi"}`)
			for server, want := range map[*sim.Server]map[string]string{gpu: {}, other: values} {
				seen := server.Requests()
				for h := range values {
					if got := seen[len(seen)-1].Header.Get(h); got != want[h] {
						t.Errorf("%s: %q, want %q", h, got, want[h])
					}
				}
			}
		})
	}
}
