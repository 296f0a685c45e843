//go:build e2e

package picker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// pickedOf is a configuration whose model's servers a picker chooses.
func pickedOf(p config.Picker, servers ...string) *config.Config {
	c := lab.OneModel("http://127.0.0.1:1")
	c.Models[0].Servers, c.Models[0].Pool = nil, "gpus"
	c.Pools = []config.Pool{{Name: "gpus", Servers: servers, Policy: config.PolicyPicker, Picker: p,
		Health: config.Health{Path: config.NoHealthChecks}}}
	return c
}

// ours is a picker of ours that runs.
type ours struct {
	url  string
	stop func()
}

// runPicker runs a picker for the servers of the pool gpus.
func runPicker(t *testing.T, servers ...string) *ours {
	t.Helper()
	p := picker.New(picker.Options{})
	var all []picker.Server
	for _, url := range servers {
		all = append(all, picker.Server{Address: netip.MustParseAddrPort(strings.TrimPrefix(url, "http://")), Requests: -1})
	}
	p.Set(map[string][]picker.Server{"gpus": all})
	s := picker.NewService(p, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	stopped := false
	o := &ours{url: "http://" + l.Addr().String()}
	o.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(o.stop)
	return o
}

func sims(t *testing.T, n int, o sim.Options) (servers []*sim.Server, urls []string) {
	for range n {
		s, url := lab.RunSim(t, o)
		servers, urls = append(servers, s), append(urls, url)
	}
	return servers, urls
}

// servedBy returns how many prompts each server has got.
func servedBy(servers []*sim.Server) []int {
	var counts []int
	for _, s := range servers {
		counts = append(counts, len(lab.Completions(s)))
	}
	return counts
}

// tenant returns a conversation of a tenant whose system prompt is longer than a block, in its n-th turn.
func tenant(name string, turns int) string {
	messages := []string{fmt.Sprintf(`{"role":"system","content":%s}`,
		lab.Quote(strings.Repeat("You work for "+name+". ", 60)))}
	for i := range turns {
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":"Question %d"}`, i))
	}
	return `{"model":"gpt-oss-120b","messages":[` + strings.Join(messages, ",") + `]}`
}

func post(client *http.Client, base, body string, header http.Header) lab.Answer {
	return lab.Do(client, http.MethodPost, base+lab.ChatPath, header, strings.NewReader(body))
}

// logged returns a field of the lines of an access log, when it has n of them. Envoy writes it every 10 seconds.
func logged(t *testing.T, file string, n int, field string) (values []string) {
	t.Helper()
	for end := time.Now().Add(lab.Patience); ; time.Sleep(5 * time.Millisecond) {
		raw, err := os.ReadFile(file)
		lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
		if err == nil && len(lines) == n {
			for _, one := range lines {
				line := map[string]any{}
				if err := json.Unmarshal([]byte(one), &line); err != nil {
					t.Fatal(err)
				}
				values = append(values, fmt.Sprint(line[field]))
			}
			return values
		}
		if time.Now().After(end) {
			t.Fatalf("the log has %d lines, want %d: %s %v", len(lines), n, raw, err)
		}
	}
}

// TestPrefix: two Envoys ask one picker. The turns of a tenant's conversation reach the same server through either of
// them, and no header of the gateway's own reaches it, whatever the client sends.
func TestPrefix(t *testing.T) {
	servers, urls := sims(t, 4, sim.Options{})
	p := runPicker(t, urls...)
	c := pickedOf(config.Picker{URL: p.url}, urls...)
	c.AccessLog = filepath.Join(t.TempDir(), "access.json")
	first, second := lab.RunEnvoy(t, c), lab.RunEnvoyOverADS(t, pickedOf(config.Picker{URL: p.url}, urls...))
	client := lab.HTTP1(t)
	forged := http.Header{contract.DestinationHeader: {strings.TrimPrefix(urls[0], "http://")},
		contract.BlocksHeader: {"0000000000000001"}, contract.PoolHeader: {"gpt-oss-120b"}}
	home := map[string]int{}
	for turn := range 4 {
		for i := range 8 {
			name := fmt.Sprint("tenant ", i)
			before := servedBy(servers)
			base := first.URL
			if (turn+i)%2 == 0 {
				base = second.URL
			}
			if a := post(client, base, tenant(name, turn+1), forged); a.Status != 200 {
				t.Fatalf("got %+v", a)
			}
			after := servedBy(servers)
			at := slices.IndexFunc(servers, func(s *sim.Server) bool {
				i := slices.Index(servers, s)
				return after[i] > before[i]
			})
			if turn == 0 {
				home[name] = at
			} else if at != home[name] {
				t.Errorf("turn %d of %s reached the server %d, and those before %d", turn, name, at, home[name])
			}
		}
	}
	if counts := servedBy(servers); slices.Max(counts) > 20 {
		t.Errorf("the servers have got %v of 32 requests", counts)
	}
	for i, got := range logged(t, c.AccessLog, 16, "picked_for") {
		if got != string(picker.ReasonPrefix) && (i >= 4 || got == "<nil>") {
			t.Errorf("request %d: picked for %s", i, got)
		}
	}
	for _, s := range servers {
		for _, r := range s.Requests() {
			for name := range r.Header {
				if contract.IsInternalHeader(strings.ToLower(name)) {
					t.Errorf("a server has got the header %s", name)
				}
			}
		}
	}
}

// TestPickerDies: the picker dies while streams run and requests come. No stream is cut and no request is lost. With
// on_failure: refuse later requests are refused, and running ones still go on.
func TestPickerDies(t *testing.T) {
	for _, on := range []string{config.OnFailureFallback, config.OnFailureRefuse} {
		t.Run(on, func(t *testing.T) {
			script := sim.NewScript(sim.Line{Tokens: lab.Tokens(lab.SixWords)})
			servers, urls := sims(t, 3, sim.Options{Script: script, HoldAfter: 2})
			p := runPicker(t, urls...)
			host := lab.RunEnvoy(t, pickedOf(config.Picker{URL: p.url, OnFailure: on}, urls...))
			answers := make(chan lab.Answer, 64)
			send := func(n int) {
				for range n {
					go func() { answers <- lab.AskChat(lab.HTTP1(t), host.URL) }()
				}
			}
			send(6)
			arrived := func(n int) {
				t.Helper()
				for end := time.Now().Add(lab.Patience); sum(servedBy(servers)) != n; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("the servers have got %v, want %d", servedBy(servers), n)
					}
				}
			}
			arrived(6)
			if counts := servedBy(servers); slices.Max(counts)-slices.Min(counts) > 1 {
				t.Errorf("the servers have got %v of 6 requests", counts)
			}
			p.stop()
			if on == config.OnFailureRefuse {
				lab.WantRefused(t, lab.AskChat(lab.HTTP1(t), host.URL), 503, "server_unavailable")
			} else {
				send(6)
				arrived(12)
			}
			for _, s := range servers {
				s.Release()
			}
			for range sum(servedBy(servers)) {
				if a := <-answers; a.Status != 200 || a.Err != nil {
					t.Errorf("got %d %s %v", a.Status, a.Body, a.Err)
				}
			}
		})
	}
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// TestChosenServerIsDead: the picker does not know yet that a server is dead. The next one that it has named gets the
// request, and from then on the dead one is not chosen.
func TestChosenServerIsDead(t *testing.T) {
	servers, urls := sims(t, 3, sim.Options{})
	p := runPicker(t, urls...)
	host := lab.RunEnvoy(t, pickedOf(config.Picker{URL: p.url}, urls...))
	client := lab.HTTP1(t)
	body := tenant("a", 1)
	if a := post(client, host.URL, body, nil); a.Status != 200 {
		t.Fatalf("got %+v", a)
	}
	dead := slices.Index(servedBy(servers), 1)
	servers[dead].Close()
	for range 10 {
		if a := post(client, host.URL, body, nil); a.Status != 200 {
			t.Errorf("got %+v", a)
		}
	}
	counts := servedBy(servers)
	if n := counts[dead]; n != 1 || slices.Max(counts) != 10 {
		t.Errorf("the servers have got %v; the first request made %d the home", counts, dead)
	}
}

// TestSilentPicker: a picker that accepts connections and never answers costs a request its timeout, and no more.
func TestSilentPicker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go func() { // it reads and says nothing
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	_, urls := sims(t, 2, sim.Options{})
	host := lab.RunEnvoy(t, pickedOf(config.Picker{URL: "http://" + l.Addr().String(),
		Timeout: config.Duration(300 * time.Millisecond)}, urls...))
	begin := time.Now()
	if a := lab.AskChat(lab.HTTP1(t), host.URL); a.Status != 200 {
		t.Fatalf("got %+v", a)
	}
	// Envoy counts from the time at which its loop woke up, which is some milliseconds before this request.
	if d := time.Since(begin); d < 200*time.Millisecond || d > 3*time.Second {
		t.Errorf("the request took %s", d)
	}
}

// TestInFront: whoever is in front of the gateway names the server. For a pool that has a picker of its own, or none,
// the same header does nothing.
func TestInFront(t *testing.T) {
	servers, urls := sims(t, 4, sim.Options{Models: []string{"gpt-oss-120b", "plain", "own"}})
	c := pickedOf(config.Picker{}, urls...)
	for name, policy := range map[string]string{"plain": "", "own": config.PolicyPicker} {
		m := c.Models[0]
		m.Name, m.Pool = name, name
		c.Models = append(c.Models, m)
		pool := config.Pool{Name: name, Servers: urls[:2], Policy: policy, Health: c.Pools[0].Health}
		if policy != "" {
			pool.Picker.URL = "http://127.0.0.1:1" // it is not there
		}
		c.Pools = append(c.Pools, pool)
	}
	for name, run := range map[string]func(*testing.T, *config.Config, ...lab.Change) *hosts.Host{
		"static": lab.RunEnvoy, "ads": lab.RunEnvoyOverADS} {
		t.Run(name, func(t *testing.T) {
			host := run(t, c)
			client := lab.HTTP1(t)
			at := func(i int) http.Header {
				return http.Header{contract.DestinationHeader: {strings.TrimPrefix(urls[i], "http://")}}
			}
			for _, i := range []int{3, 3, 1, 2, 3, 0} {
				before := servedBy(servers)[i]
				if a := post(client, host.URL, tenant("a", 1), at(i)); a.Status != 200 {
					t.Fatalf("got %+v", a)
				}
				if servedBy(servers)[i] != before+1 {
					t.Errorf("the server %d was named in front, and has not got the request: %v", i, servedBy(servers))
				}
			}
			for _, model := range []string{"plain", "own"} {
				before := servedBy(servers)
				for range 4 {
					body := strings.Replace(tenant("a", 1), "gpt-oss-120b", model, 1)
					if a := post(client, host.URL, body, at(3)); a.Status != 200 {
						t.Fatalf("got %+v", a)
					}
				}
				if servedBy(servers)[3] != before[3] {
					t.Errorf("a client has chosen the server of %s", model)
				}
			}
			for _, r := range servers[3].Requests() {
				if r.Header.Get(contract.DestinationHeader) != "" {
					t.Error("a server has got the header")
				}
			}
		})
	}
}
