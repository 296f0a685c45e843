//go:build e2e

package agents_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/agents"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// turns is how many turns of a session are played. All 43 would exceed a model's context.
const turns = 16

// TestProxiesSendTheSame plays sessions through a gateway that remembers how requests begin and one that does not: both
// ask the server the same, byte for byte.
func TestProxiesSendTheSame(t *testing.T) { lab.OnProxies(t, sendTheSame) }

func sendTheSame(t *testing.T, run lab.RunProxy) {
	t.Setenv(contract.SealKeysVariable, agents.SealKeys)
	server, url := lab.RunSim(t, sim.Options{})
	gateway := func(memory config.Size) *hosts.Host {
		c := lab.OneModel(url)
		c.PrefixMemory = memory
		return run(t, c)
	}
	without, with := gateway(0), gateway(4<<20)
	client := lab.HTTP1(t)
	sent := func(host *hosts.Host, form agents.Form, body string) []byte {
		t.Helper()
		if a := lab.Ask(client, host.URL+form.Path(), body); a.Err != nil || a.Status != http.StatusOK {
			t.Fatalf("%d %.300s (%v)", a.Status, a.Body, a.Err)
		}
		requests := server.Requests()
		return requests[len(requests)-1].Body
	}
	asked := 0
	for _, form := range []agents.Form{agents.Responses, agents.Sealed, agents.Chat} {
		sessions := []*agents.Bodies{agents.New(agents.Tuning, 1).Bodies(form, lab.Model),
			agents.New(agents.Tuning, 2).Bodies(form, lab.Model)}
		for turn := 1; turn <= turns; turn++ {
			for i := range sessions {
				body := sessions[i].Turn(turn)
				if want, got := sent(without, form, body), sent(with, form, body); !bytes.Equal(got, want) {
					t.Fatalf("%s, turn %d of session %d: sent %.300s\nwant %.300s", form, turn, i, got, want)
				}
				asked++
			}
		}
	}
	if n := recalled(t, with); n < asked*3/4 {
		t.Errorf("%d of %d requests were recalled", n, asked)
	}
	if n := recalled(t, without); n != 0 {
		t.Errorf("a gateway without a memory recalled %d requests", n)
	}
}

// recalled returns how many requests began as an earlier one, by the host's metrics. A counter that was never raised is
// not among them.
func recalled(t *testing.T, h *hosts.Host) int {
	t.Helper()
	const path = "/stats/prometheus"
	var scrape []byte
	if h.Process != nil {
		var err error
		if scrape, err = h.Process.Get(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	} else {
		reply := httptest.NewRecorder()
		h.Server.Prometheus().ServeHTTP(reply, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		scrape = reply.Body.Bytes()
	}
	m := regexp.MustCompile(`(?m)^harmony_prefix_requests_total\{[^}]*kind="hit"[^}]*\} (\d+)$`).FindSubmatch(scrape)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
