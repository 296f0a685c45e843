//go:build e2e

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

const (
	// atOnce is within what time a client is to see that its server has died, on a busy machine.
	atOnce = 2 * time.Second

	dyingServers  = 4
	dyingSessions = 24
	dyingWords    = 60
	dyingRate     = 20 // tokens a second
)

// session is a client that keeps its cookies.
type session struct {
	streamClient
	first, now string // the servers that it began with and is at home with
}

// TestControlPlaneServerDies: a server is killed. Streams on it end at once and with an error, requests that it has not
// got are answered by others, and its sessions go on with another server for good.
func TestControlPlaneServerDies(t *testing.T) {
	servers := map[string]*simProcess{}
	var urls []string
	for i := range dyingServers {
		name := fmt.Sprintf("Server %d.", i)
		servers[name] = startSim(t, name)
		urls = append(urls, servers[name].url)
	}
	p := startPlane(t, planeSettings{servers: urls, envoys: 2, pool: "    policy: session\n    session: { cookie: " +
		"harmony-session }\n"})
	p.awaitServers(func(page string) bool { return !strings.Contains(page, "/failed_active_hc") })
	sessions := make([]*session, dyingSessions)
	var clients []streamClient
	for i := range sessions {
		client := []func(*testing.T) *http.Client{lab.HTTP1, lab.HTTP2}[i%2](t)
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		client.Jar = jar
		clients = append(clients, streamClient{client, p.urls[i%2]})
		sessions[i] = &session{streamClient: clients[i]}
	}
	all := func(turn func(i int, s *session)) {
		var turns sync.WaitGroup
		for i, s := range sessions {
			turns.Go(func() { turn(i, s) })
		}
		turns.Wait()
	}
	all(func(_ int, s *session) { s.first = s.turn(t) })
	streams := openStreams(t, dyingWords, clients)
	dead := sessions[0].first
	onDead := slices.DeleteFunc(slices.Clone(sessions), func(s *session) bool { return s.first != dead })

	killed := time.Now()
	servers[dead].kill(t)
	// Envoy knows then that its connections are gone, but not yet that the server is.
	gone := strings.TrimPrefix(servers[dead].url, "http://") + "::cx_active::0\n"
	p.awaitServers(func(page string) bool { return strings.Contains(page, gone) })
	asked := time.Now()
	var asking sync.WaitGroup
	for _, s := range sessions {
		s.now = s.first
		if s.first == dead {
			asking.Go(func() { s.now = s.turn(t) })
		}
	}
	const others = 40
	for i := range others {
		client := lab.HTTP1(t)
		asking.Go(func() {
			if a := lab.AskChat(client, p.urls[i%2]); a.Status != http.StatusOK {
				t.Errorf("a request without a session: %+v", a)
			}
		})
	}
	asking.Wait()
	answered := time.Since(asked)
	all(func(i int, s *session) {
		for range 3 {
			if again := s.turn(t); again != s.now || again == dead {
				t.Errorf("session %d is answered by %q, after %q; the dead one is %q", i, again, s.now, dead)
			}
		}
	})
	// Two cut streams put the server out, and then no request meets it. One that comes before that is retried.
	retried, ejected := p.counter("upstream_rq_retry_success"), p.counter("outlier_detection.ejections_enforced_total")
	if retried == 0 && ejected == 0 {
		t.Error("no request was retried, and no Envoy has put the dead server out")
	}

	streams.all.Wait()
	latest := [2]time.Duration{}
	for i, end := range streams.got {
		if sessions[i].first != dead {
			streams.wantWhole(t, i)
			continue
		}
		if end.err == nil || end.last || !strings.HasPrefix(streams.texts[i], end.text) {
			t.Errorf("stream %d, on the dead server, ended so: %+v", i, end)
		}
		latest[i%2] = max(latest[i%2], end.at.Sub(killed))
	}
	if latest[0] == 0 || latest[1] == 0 || max(latest[0], latest[1]) > atOnce {
		t.Errorf("streams ended after %s over HTTP/1.1 and %s over HTTP/2, or none did", latest[0], latest[1])
	}
	t.Logf("kill -9 of 1 of %d servers, with %d of %d streams on it: each of them ended with an error, the last after "+
		"%s over HTTP/1.1 and %s over HTTP/2; the others went on to their ends",
		dyingServers, len(onDead), len(sessions), latest[0].Round(time.Millisecond), latest[1].Round(time.Millisecond))
	t.Logf("  %d requests, %d of them of its sessions, were sent after %s and answered within %s; %d were retried on "+
		"another server, none failed; %d Envoys had put it out",
		others+len(onDead), len(onDead), asked.Sub(killed).Round(time.Millisecond), answered.Round(time.Millisecond), retried,
		ejected)
	t.Logf("  its %d sessions stayed with their new servers, the other %d with their old ones", len(onDead),
		len(sessions)-len(onDead))
}

// turn sends a request and returns what the server that answers calls itself.
func (s *session) turn(t *testing.T) string {
	a := lab.AskChat(s.http, s.url)
	if a.Status != http.StatusOK || a.Err != nil {
		t.Errorf("a session's request: %+v", a)
	}
	return lab.Read(a.Body).Text
}

// simProcess is harmony sim.
type simProcess struct {
	*lab.Program
	url string
}

// startSim starts a server that has a name, which it answers with, and long answers.
func startSim(t *testing.T, name string) *simProcess {
	t.Helper()
	var script strings.Builder
	lines := json.NewEncoder(&script)
	lines.SetEscapeHTML(false)
	line := func(match, text string) {
		if err := lines.Encode(map[string]string{
			"match": match, "text": "<|channel|>final<|message|>" + text + "<|return|>"}); err != nil {
			t.Fatal(err)
		}
	}
	line("Hi", name)
	for i := range dyingSessions {
		line(longPrompt(i), longAnswer(i, dyingWords))
	}
	file := filepath.Join(t.TempDir(), "script.jsonl")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &simProcess{Program: lab.RunHarmony(t, nil, "sim", "--listen", "127.0.0.1:0", "--tokens-per-second",
		strconv.Itoa(dyingRate), "--script", file, "--quiet")}
	for deadline := time.Now().Add(lab.ReadyLimit); s.url == ""; {
		if s.Ended(10*time.Millisecond) || time.Now().After(deadline) {
			t.Fatalf("harmony sim does not serve: %v", s.Err)
		}
		if url, ok := strings.CutSuffix(s.Stdout.String(), "\n"); ok {
			s.url = url
		}
	}
	return s
}

// kill ends it as a crash would.
func (s *simProcess) kill(t *testing.T) {
	t.Helper()
	if err := s.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if !s.Ended(lab.StopLimit) {
		t.Fatal("it lives")
	}
}

// awaitServers waits until every Envoy says so of its servers.
func (p *plane) awaitServers(ok func(page string) bool) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), lab.Patience)
	defer cancel()
	for _, one := range p.envoys {
		for {
			page, err := one.Get(ctx, "/clusters")
			if err != nil {
				p.Fatal(err)
			}
			if ok(string(page)) {
				break
			}
			time.Sleep(lab.Pause)
		}
	}
}

// Counter is the sum of a counter of the pool's over the Envoys.
func (p *plane) counter(name string) int {
	p.Helper()
	sum := 0
	for _, one := range p.envoys {
		page, err := one.Get(p.Context(), "/stats?filter="+name)
		if err != nil {
			p.Fatal(err)
		}
		for line := range strings.Lines(string(page)) {
			if before, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasSuffix(before, "."+name) {
				n, err := strconv.Atoi(value)
				if err != nil {
					p.Fatal(err)
				}
				sum += n
			}
		}
	}
	return sum
}
