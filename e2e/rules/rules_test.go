//go:build e2e

package rules

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// ruleHost is a running gateway with the probe.
type ruleHost struct {
	address string // host:port of its listener
	stop    func()
}

// ruleHosts start a gateway with these resources; log is given every line that it logs from then on. The rules are
// recorded from Envoy; the other must do the same, but for what it is known to lack.
var ruleHosts = []struct {
	name  string
	start func(r *xds.Resources, log func(line string)) (*ruleHost, error)
	check func(t *testing.T, s *ruleStage, r *rule)
}{
	{"envoy", startRuleEnvoy, checkOnEnvoy},
	{"wazero", startRuleWazero, checkOnWazero},
}

// recordedOn is the Envoy that the rules are of; another's need not be the same in everything.
const recordedOn = "1.40."

// testedEnvoy fails a test of the rules on another Envoy.
func testedEnvoy(t *testing.T) {
	t.Helper()
	v, err := envoy.CheckVersion(t.Context(), os.Getenv("ENVOY"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(v.String(), recordedOn) {
		t.Fatalf("the rules are those of Envoy %sx, this is %s: set ENVOY to such a one", recordedOn, v)
	}
}

func startRuleEnvoy(r *xds.Resources, log func(line string)) (*ruleHost, error) {
	c := config.Default()
	c.Envoy.Concurrency = 1
	host, err := hosts.EnvoyWith(hosts.Setup{Config: c}, r)
	if err != nil {
		return nil, err
	}
	w := &logWriter{to: log}
	_, _ = fmt.Fprintln(w, host.Process.Log(1<<10)) // what it has said while it started
	host.Process.PassLog(w)
	return &ruleHost{address: strings.TrimPrefix(host.URL, "http://"), stop: host.Stop}, nil
}

// ruleRun is a rule at work.
type ruleRun struct {
	rule    *rule
	board   *board
	faults  ruleFaults
	serving sync.WaitGroup

	mu   sync.Mutex
	said map[string][]string // what servers have seen, by request
}

// arrived takes a place for what a server sees of a request, in the order in which requests come.
func (r *ruleRun) arrived(id string) (saw func(text string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := len(r.said[id])
	r.said[id] = append(r.said[id], "")
	return func(text string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said[id][place] = text
	}
}

// ruleStage is a host and its servers, for all rules with the same settings.
type ruleStage struct {
	host    *ruleHost
	servers [2]*ruleServer
	mu      sync.Mutex
	board   *board
	early   []string // what was logged before the first rule
}

func (s *ruleStage) log(line string) {
	s.mu.Lock()
	b := s.board
	if b == nil {
		s.early = append(s.early, line)
	}
	s.mu.Unlock()
	if b != nil {
		b.log(line)
	}
}

func newRuleStage(t *testing.T, setup hosts.ProbeSetup, start func(*xds.Resources, func(string)) (*ruleHost, error)) (
	*ruleStage, error) {
	t.Helper()
	s := &ruleStage{}
	s.servers[0], s.servers[1] = newRuleServer(t, "server", setup.ServerHTTP2),
		newRuleServer(t, "other", setup.ServerHTTP2)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	setup.Server, setup.Other, setup.Closed = s.servers[0].port, s.servers[1].port, closed.Addr().(*net.TCPAddr).Port
	closed.Close()
	r, err := setup.Resources()
	if err != nil {
		t.Fatal(err)
	}
	if s.host, err = start(r, s.log); err != nil {
		return nil, err
	}
	t.Cleanup(s.host.stop)
	return s, nil
}

// run makes requests of a rule and gives what every side has seen.
func (s *ruleStage) run(r *rule, requests []*message) (string, error) {
	run := &ruleRun{rule: r, board: newBoard(r.name), said: map[string][]string{}}
	s.mu.Lock()
	s.board = run.board
	early := s.early
	s.early = nil
	s.mu.Unlock()
	if r.plugin {
		for _, line := range early {
			run.board.log(line)
		}
	}
	for _, server := range s.servers {
		server.serve(run)
	}
	clients := make([]*clientSide, len(requests))
	var running sync.WaitGroup
	for i, m := range requests {
		c := &clientSide{run: run, m: m}
		clients[i] = c
		if m.after == "" {
			running.Wait()
		} else if err := run.board.wait(m.id, m.after); err != nil {
			return "", err
		}
		time.Sleep(m.pause)
		running.Go(func() {
			send := c.http1
			if r.client == "h2" {
				send = c.http2
			}
			if err := send(s.host.address); err != nil {
				run.faults.add(err)
			}
		})
	}
	running.Wait()
	if !waitFor(&run.serving) {
		run.faults.add(fmt.Errorf("a server is still at it"))
	}
	out := ""
	if r.plugin {
		out = "# plugin\nprobe:\n  " + strings.Join(run.board.probe("plugin"), "\n  ") + "\n"
	}
	for i, m := range requests {
		out += "# " + m.id + "\n" + clients[i].view.text("client") + strings.Join(run.said[m.id], "")
		if lines := run.board.probe(m.id); len(lines) > 0 {
			out += "probe:\n  " + strings.Join(lines, "\n  ") + "\n"
		}
	}
	if lines := run.board.probe("unknown"); len(lines) > 0 {
		out += "# unknown\nprobe:\n  " + strings.Join(lines, "\n  ") + "\n"
	}
	return out, run.faults.all()
}

func waitFor(g *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		g.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(ruleWait):
		return false
	}
}

// TestRules runs every rule on every host. Rules with the same settings share one.
func TestRules(t *testing.T) {
	type group struct {
		setup hosts.ProbeSetup
		rules []*rule
	}
	var groups []*group
	shared := map[hosts.ProbeSetup]*group{}
	for _, r := range loadRules(t) {
		g := shared[r.setup]
		if r.fresh || g == nil {
			g = &group{setup: r.setup}
			groups = append(groups, g)
		}
		if !r.fresh {
			shared[r.setup] = g
		}
		g.rules = append(g.rules, r)
	}
	for _, host := range ruleHosts {
		t.Run(host.name, func(t *testing.T) {
			if host.name == "envoy" {
				testedEnvoy(t)
			}
			for _, g := range groups {
				t.Run(g.rules[0].name, func(t *testing.T) {
					s, err := newRuleStage(t, g.setup, host.start)
					if (err != nil) != g.rules[0].refused {
						t.Fatalf("the host started: %v", err)
					}
					if err != nil {
						return
					}
					for _, r := range g.rules {
						t.Run(r.name, func(t *testing.T) { host.check(t, s, r) })
					}
				})
			}
		})
	}
}

func checkOnEnvoy(t *testing.T, s *ruleStage, r *rule) {
	seen, err := s.run(r, r.requests)
	if err != nil {
		t.Errorf("%v\nseen:\n%s", err, seen)
		return
	}
	if *lab.Update {
		if err := r.record(seenOnEnvoy, seen); err != nil {
			t.Error(err)
		}
		return
	}
	if want := r.want(seenOnEnvoy); seen != want {
		t.Errorf("got\n%s\nwant\n%s", seen, want)
	}
}
