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

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	costRounds   = 3
	costRequests = 1500 // of a round
	costAtOnce   = 4
)

// setup is one way to run a gateway.
type setup struct {
	name     string
	settings string
	edge     *envoy.Process
	address  string
	service  *replica // nil if nobody is asked
	cpu      time.Duration
	asked    time.Duration // the service's processor time
	first    []time.Duration
}

// TestCost prints what routing, held answers, keys and limits add to a request, side by side: the rounds take turns.
func TestCost(t *testing.T) {
	lab.Long(t, "bench-limits") // it prints figures, and checks nothing that other tests do not
	_, url := lab.RunSim(t, sim.Options{})
	file := writeKeys(t, fmt.Sprintf("clients: [{name: a, hashes: [%q], limits: {requests_per_minute: 1000000, "+
		"tokens_per_minute: 1000000000, tokens_per_day: 1000000000000, concurrency: 1000}}]\n", clients.HashOf(keyOf("a"))))
	keys := fmt.Sprintf("clients: {keys_file: %s}\n", file)
	memory, redis := startReplica(t, file), startReplica(t, file, "--redis", lab.StartRedis(t).URL)
	asking := func(r *replica) string { return keys + fmt.Sprintf("limits: {url: 'http://%s'}\n", r.address) }
	pooled := func(settings string, others ...string) string {
		servers := strings.Join(append([]string{url}, others...), "', '")
		return fmt.Sprintf("pools: [{name: p, servers: ['%s'], %s}]\nmodels: [{name: %s, pool: p}]\n", servers, settings,
			lab.Model)
	}
	off := pooled("policy: least_request")
	asked := lab.FreeAddress(t)
	prefix, picker := pooled("policy: prefix"), pooled("policy: picker, picker: {url: 'http://"+asked+"', timeout: 5s}")
	lab.RunHarmony(t, nil, "picker", "--config", lab.WriteConfig(t, "listen: 127.0.0.1:0\n"+picker), "--listen", asked,
		"--status", lab.FreeAddress(t)).Announced(t, `serving Envoys on (\S+)`)
	_, other := lab.RunSim(t, sim.Options{})
	two := func(until string) string { return pooled("policy: round_robin, retry_until: "+until, other) }
	setups := []*setup{
		{name: "two, headers", settings: two("headers")}, {name: "two, first_token", settings: two("first_token")},
		{name: "off", settings: off}, {name: "policy prefix", settings: prefix}, {name: "policy picker", settings: picker},
		{name: "keys", settings: keys + off},
		{name: "limits, in memory", settings: asking(memory) + off, service: memory},
		{name: "limits, in Redis", settings: asking(redis) + off, service: redis},
		{name: "prefix and limits", settings: asking(memory) + prefix, service: memory},
	}
	for _, s := range setups {
		s.start(t)
	}
	for round := range costRounds + 1 {
		for _, s := range setups {
			s.round(t, round > 0) // the first one warms
		}
	}
	n := costRounds * costRequests
	t.Logf("%-18s %16s %18s %12s %12s", "", "Envoy's CPU, µs", "service's CPU, µs", "TTFB p50, µs", "p95, µs")
	for _, s := range setups {
		slices.Sort(s.first)
		t.Logf("%-18s %16d %18d %12d %12d", s.name, int(s.cpu.Microseconds())/n, int(s.asked.Microseconds())/n,
			s.first[n/2].Microseconds(), s.first[n*95/100].Microseconds())
	}
}

func (s *setup) start(t *testing.T) {
	t.Helper()
	xds := lab.FreeAddress(t)
	config := lab.WriteConfig(t, "listen: 127.0.0.1:0\n"+s.settings)
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
