//go:build e2e

package routing

import (
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestClientHeadersStayHere: what clients ask of the gateway itself reaches no Harmony server, and stays on a request
// that is not ours.
func TestClientHeadersStayHere(t *testing.T) {
	gpu, url := lab.RunSim(t, sim.Options{})
	other, otherURL := lab.RunSim(t, sim.Options{AnyPrompt: true, Models: []string{"other"}})
	c := lab.OneModel(url)
	c.Passthrough = otherURL
	values := map[string]string{contract.StrictHeader: "0", contract.EventsHeader: "chunks"}
	on := map[string]string{"envoy": lab.RunEnvoy(t, c).URL, "wazero": lab.RunWazero(t, c).URL,
		"native": lab.RunNative(t, c).URL}
	for name, base := range on {
		t.Run(name, func(t *testing.T) {
			client := lab.HTTP1(t)
			header := http.Header{}
			for name, value := range values {
				header.Set(name, value)
			}
			post := func(path, body string) {
				a := lab.Do(client, http.MethodPost, base+path, header, strings.NewReader(body))
				if a.Status != 200 {
					t.Fatalf("got %+v", a)
				}
			}
			post(lab.ChatPath, `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}]}`)
			post(lab.RawPath, `{"model":"other","prompt":"Hi"}`)
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
