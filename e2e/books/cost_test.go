//go:build e2e

package books

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/clients"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	costRounds   = 3
	costRequests = 1500 // of a round
	costAtOnce   = 4
)

// setup is one way to run a gateway.
type setup struct {
	name    string
	edge    *envoy.Process
	address string
	service *replica // nil if nobody is asked
	cpu     time.Duration
	asked   time.Duration // the service's processor time
	first   []time.Duration
}

// TestCost prints what keys and limits add to a request, side by side: the rounds take turns.
func TestCost(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	file := writeKeys(t, fmt.Sprintf("clients: [{name: a, hashes: [%q], limits: {requests_per_minute: 1000000, "+
		"tokens_per_minute: 1000000000, tokens_per_day: 1000000000000, concurrency: 1000}}]\n", clients.HashOf(keyOf("a"))))
	keys := fmt.Sprintf("clients: {keys_file: %s}\n", file)
	memory, redis := startReplica(t, file), startReplica(t, file, "--redis", lab.StartRedis(t).URL)
	asking := func(r *replica) string { return keys + fmt.Sprintf("limits: {url: 'http://%s'}\n", r.address) }
	setups := []*setup{{name: "off"}, {name: "keys"}, {name: "limits, in memory", service: memory},
		{name: "limits, in Redis", service: redis}}
	for i, settings := range []string{"", keys, asking(memory), asking(redis)} {
		setups[i].start(t, url, settings)
	}
	for round := range costRounds + 1 {
		for _, s := range setups {
			s.round(t, round > 0) // the first one warms
		}
	}
	const n = costRounds * costRequests
	t.Logf("%-18s %16s %18s %12s %12s", "", "Envoy's CPU, µs", "service's CPU, µs", "TTFB p50, µs", "p95, µs")
	for _, s := range setups {
		slices.Sort(s.first)
		t.Logf("%-18s %16d %18d %12d %12d", s.name, s.cpu.Microseconds()/n, s.asked.Microseconds()/n,
			s.first[n/2].Microseconds(), s.first[n*95/100].Microseconds())
	}
}

func (s *setup) start(t *testing.T, server, settings string) {
	t.Helper()
	xds := lab.FreeAddress(t)
	config := lab.WriteConfig(t, fmt.Sprintf("listen: 127.0.0.1:0\n%smodels: [{name: %s, servers: ['vllm=%s']}]\n", settings,
		lab.Model, server))
	lab.RunHarmony(t, nil, "controlplane", "--config", config, "--listen", xds, "--status", lab.FreeAddress(t),
		"--state", "none", "--wasm", lab.Tool(t, "HARMONY_WASM")).Announced(t, `serving Envoys on (\S+)`)
	s.edge, s.address = lab.StartEdge(t, lab.EdgeBootstrap(t, xds, "edge"))
}

// used returns the processor time of Envoy and of the service.
func (s *setup) used(t *testing.T) (edge, service time.Duration) {
	t.Helper()
	edge, err := lab.ProcessTime(s.edge.PID())
	if err == nil && s.service != nil {
		service, err = lab.ProcessTime(s.service.Cmd.Process.Pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return edge, service
}

func (s *setup) round(t *testing.T, counts bool) {
	t.Helper()
	body := lab.ChatBody(lab.Model, strings.Repeat("word ", 200))
	edge, service := s.used(t)
	first := make([]time.Duration, costRequests)
	var group sync.WaitGroup
	for worker := range costAtOnce {
		group.Go(func() {
			for i := worker; i < costRequests; i += costAtOnce {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+lab.ChatPath,
					strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Authorization", "Bearer "+keyOf("a"))
				start := time.Now()
				resp, err := http.DefaultClient.Do(req)
				first[i] = time.Since(start)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("%s: %v", s.name, err)
					return
				}
			}
		})
	}
	group.Wait()
	if counts {
		e, r := s.used(t)
		s.cpu, s.asked, s.first = s.cpu+e-edge, s.asked+r-service, append(s.first, first...)
	}
}
