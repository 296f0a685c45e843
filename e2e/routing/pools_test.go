//go:build e2e

package routing

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// poolOf is the cases' configuration with its model's servers in a pool.
func poolOf(p config.Pool, servers ...string) *config.Config {
	c := lab.OneModel("http://127.0.0.1:1")
	p.Name, p.Servers = "gpus", servers
	c.Models[0].Servers, c.Models[0].Pool = nil, p.Name
	c.Pools = []config.Pool{p}
	return c
}

// addPooled adds a model and its pool to a configuration.
func addPooled(c *config.Config, model string, p config.Pool) {
	lab.AddModel(c, model, "")
	m := &c.Models[len(c.Models)-1]
	m.Servers, m.Pool = nil, p.Name
	c.Pools = append(c.Pools, p)
}

// TestServersAuthorization: the servers get the gateway's token, or the client's where the model says so, and else
// none.
func TestServersAuthorization(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("servers-own"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		key     string
		change  func(*config.Config)
		arrives string
	}{
		"nothing said": {"", func(*config.Config) {}, ""},
		"forwarded": {"clients-own", func(c *config.Config) { c.Models[0].ForwardAuthorization = true },
			"Bearer clients-own"},
		"of the pool": {"servers-own", func(c *config.Config) {
			c.Pools[0].Authorization = "key"
			c.Secrets = []config.Secret{{Name: "key", File: token}}
		}, "Bearer servers-own"},
	} {
		t.Run(name, func(t *testing.T) {
			server, url := lab.RunSim(t, sim.Options{APIKey: tt.key})
			c := poolOf(config.Pool{}, url)
			tt.change(c)
			host := lab.RunEnvoy(t, c)
			awaitWell(t, host)
			if a := lab.AskChat(lab.HTTP1(t), host.URL, "authorization", "Bearer clients-own"); a.Status != 200 {
				t.Fatalf("got %+v", a)
			}
			got := lab.Completions(server)
			if len(got) != 1 || got[0].Header.Get("authorization") != tt.arrives {
				t.Errorf("the server got %d requests, with %q", len(got), got[0].Header.Get("authorization"))
			}
			dump, err := host.Process.Get(t.Context(), "/config_dump")
			if err != nil || strings.Contains(string(dump), "servers-own") {
				t.Errorf("the configuration that Envoy shows has the token in it (%v)", err)
			}
		})
	}
	t.Run("none to be had", func(t *testing.T) {
		server, url := lab.RunSim(t, sim.Options{})
		c := poolOf(config.Pool{Authorization: "key"}, url)
		c.Secrets = []config.Secret{{Name: "key", File: token}}
		if err := os.WriteFile(token, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		host := lab.RunEnvoy(t, c)
		awaitWell(t, host)
		a := lab.AskChat(lab.HTTP1(t), host.URL)
		if a.Status != http.StatusServiceUnavailable || a.ErrorCode() != "server_unavailable" ||
			len(lab.Completions(server)) != 0 {
			t.Errorf("got %+v, and the server %d requests", a, len(lab.Completions(server)))
		}
	})
}

// servedBy are how many completions each server was asked for.
func servedBy(servers []*sim.Server) []int {
	n := make([]int, len(servers))
	for i, s := range servers {
		n[i] = len(lab.Completions(s))
	}
	return n
}

// TestSessions: requests of one session stay with a server, requests of another begin with the next, and a session
// whose server is gone has a new one for good.
func TestSessions(t *testing.T) {
	for _, by := range []string{"cookie", "header"} {
		t.Run(by, func(t *testing.T) {
			var servers []*sim.Server
			var urls []string
			for range 3 {
				s, url := lab.RunSim(t, sim.Options{})
				servers, urls = append(servers, s), append(urls, url)
			}
			pool := config.Pool{Policy: config.PolicySession, Session: config.Session{Cookie: "harmony-session"},
				Health: config.Health{Path: config.NoHealthChecks}}
			if by == "header" {
				pool.Session = config.Session{Header: "x-session-id"}
				pool.Health = config.Health{Interval: config.Duration(100 * time.Millisecond)}
			}
			host := lab.RunEnvoy(t, poolOf(pool, urls...))
			awaitWell(t, host)
			// turn sends a request of a session and says which server got it.
			turn := func(client *http.Client, name string) int {
				before := servedBy(servers)
				if a := lab.AskChat(client, host.URL, "x-session-id", name); a.Status != 200 {
					t.Fatalf("got %+v", a)
				}
				for i, n := range servedBy(servers) {
					if n > before[i] {
						return i
					}
				}
				t.Fatal("no server got the request")
				return -1
			}
			clients, homes := map[string]*http.Client{}, map[string]int{}
			used := map[int]bool{}
			for _, name := range strings.Fields("a b c d e f g h i j k l") {
				jar, err := cookiejar.New(nil)
				if err != nil {
					t.Fatal(err)
				}
				clients[name] = lab.HTTP1(t)
				clients[name].Jar = jar
				homes[name] = turn(clients[name], name)
				used[homes[name]] = true
			}
			for i := 0; len(used) < 3 && i < 60; i++ { // the first 12 leave one out in 2 % of all runs
				used[turn(lab.HTTP1(t), fmt.Sprint("further ", i))] = true
			}
			if len(used) != 3 {
				t.Errorf("72 sessions began on %d of 3 servers", len(used))
			}
			for name, home := range homes {
				for range 3 {
					if got := turn(clients[name], name); got != home {
						t.Errorf("session %s went from server %d to %d", name, home, got)
					}
				}
			}
			gone := homes["a"]
			servers[gone].Close()
			if by == "header" {
				// Until Envoy knows that a server is gone, a retry finds another one, and not yet the session's next.
				if a := lab.AskChat(clients["a"], host.URL, "x-session-id", "a"); a.Status != 200 {
					t.Fatalf("got %+v", a)
				}
				awaitAdmin(t, host, "/clusters", "failed_active_hc")
			}
			for name, home := range homes {
				again := turn(clients[name], name)
				if again == gone || home != gone && again != home {
					t.Errorf("session %s went from server %d to %d, and %d is gone", name, home, again, gone)
				}
				for range 3 {
					if got := turn(clients[name], name); got != again {
						t.Errorf("session %s, which was taken in by server %d, went on to %d", name, again, got)
					}
				}
			}
		})
	}
}

// TestCapacity shows that requests beyond the servers' capacity fail at once.
func TestCapacity(t *testing.T) {
	script := sim.NewScript(sim.Line{Tokens: lab.Tokens(lab.SixWords)})
	var servers []*sim.Server
	var urls []string
	for range 2 {
		s, url := lab.RunSim(t, sim.Options{Script: script, HoldAfter: 2})
		servers, urls = append(servers, s), append(urls, url)
	}
	host := lab.RunEnvoy(t, poolOf(config.Pool{Capacity: 2}, urls...))
	awaitWell(t, host)
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	answers := make(chan lab.Answer, 4)
	for range cap(answers) {
		before := servedBy(servers)
		go func() { answers <- lab.AskChat(lab.HTTP1(t), host.URL) }()
		for slices.Equal(servedBy(servers), before) {
			if ctx.Err() != nil {
				t.Fatal("a request does not reach a server")
			}
			time.Sleep(lab.Pause)
		}
	}
	if n := servedBy(servers); !slices.Equal(n, []int{2, 2}) {
		t.Errorf("the server with the fewest requests should get each, and they have got %d", n)
	}
	if a := lab.AskChat(lab.HTTP1(t), host.URL); a.Status != http.StatusTooManyRequests ||
		a.ErrorCode() != "server_overloaded" || a.Header.Get("retry-after") != "2" {
		t.Errorf("got %+v", a)
	}
	for _, s := range servers {
		s.Release()
	}
	for range cap(answers) {
		if a := <-answers; a.Status != 200 {
			t.Errorf("got %+v", a)
		}
	}
}

// TestHealthAndSpares: a server that is not well gets nothing, spares help out, and both end when it is well again.
func TestHealthAndSpares(t *testing.T) {
	first, firstURL := lab.RunSim(t, sim.Options{})
	spare, spareURL := lab.RunSim(t, sim.Options{})
	c := poolOf(config.Pool{Spares: []string{"spares"},
		Health: config.Health{Interval: config.Duration(100 * time.Millisecond)}}, firstURL)
	c.Pools = append(c.Pools, config.Pool{Name: "spares", Servers: []string{spareURL}})
	host := lab.RunEnvoy(t, c)
	awaitWell(t, host)
	client := lab.HTTP1(t)
	reaches := func(s *sim.Server) {
		t.Helper()
		for end := time.Now().Add(lab.Patience); time.Now().Before(end); {
			before := len(lab.Completions(s))
			if a := lab.AskChat(client, host.URL); a.Status != 200 {
				t.Fatalf("got %+v", a)
			}
			if len(lab.Completions(s)) > before {
				return
			}
			time.Sleep(lab.Pause)
		}
		t.Fatal("no request has come")
	}
	reaches(first)
	if n := len(lab.Completions(spare)); n != 0 {
		t.Errorf("the spare got %d requests", n)
	}
	first.SetHealthy(false)
	reaches(spare)
	first.SetHealthy(true)
	reaches(first)
	spare.SetHealthy(false)
	first.SetHealthy(false)
	for end := time.Now().Add(lab.Patience); ; {
		a := lab.AskChat(client, host.URL)
		if a.Status == http.StatusServiceUnavailable && a.ErrorCode() == "server_unavailable" {
			break
		}
		if a.Status != 200 || time.Now().After(end) {
			t.Fatalf("got %+v", a)
		}
		time.Sleep(lab.Pause)
	}
}

// TestSparesAtOnce: servers are killed, and no Envoy has noticed yet. Requests whose connections are refused go to the
// pool's other server, and when none is left to the spares, in their order: none is answered 503. Each case has a model
// and servers of its own in one Envoy.
func TestSparesAtOnce(t *testing.T) {
	c := lab.OneModel("http://127.0.0.1:1")
	c.Models = nil
	runs := map[string]func(*testing.T, *hosts.Host){}
	for name, tt := range map[string]struct {
		servers, killed int
		spares          []bool // of each spare's only server, whether it is killed too
		served          string // by whom
	}{
		"the only server":                {1, 1, []bool{false}, "spare 0"},
		"all of four":                    {4, 4, []bool{false}, "spare 0"},
		"all, and the first spare's too": {2, 2, []bool{true, false}, "spare 1"},
		"one of four, with a spare":      {4, 1, []bool{false}, "server"},
	} {
		model := fmt.Sprintf("m-%d", len(runs))
		dying := map[string]*sim.Server{} // by URL
		var own []*sim.Server
		var urls []string
		for i := range tt.servers {
			s, url := lab.RunSim(t, sim.Options{Models: []string{model}})
			own, urls = append(own, s), append(urls, url)
			if i < tt.killed {
				dying[url] = s
			}
		}
		unchecked := config.Health{Path: config.NoHealthChecks} // so that nothing but requests finds the servers dead
		pool := config.Pool{Name: "pool-" + model, Servers: urls, Health: unchecked}
		spares := make([]*sim.Server, len(tt.spares))
		for i, killed := range tt.spares {
			s, url := lab.RunSim(t, sim.Options{Models: []string{model}})
			spares[i] = s
			if killed {
				dying[url] = s
			}
			spare := config.Pool{Name: fmt.Sprintf("spare-%s-%d", model, i), Servers: []string{url}, Health: unchecked}
			pool.Spares, c.Pools = append(pool.Spares, spare.Name), append(c.Pools, spare)
		}
		addPooled(c, model, pool)
		ask := func(t *testing.T, url string) lab.Answer {
			return lab.Ask(lab.HTTP1(t), url+lab.ChatPath, lab.ChatBody(model, "Hi"))
		}
		runs[name] = func(t *testing.T, host *hosts.Host) {
			for range tt.servers { // connections that will be found dead
				if a := ask(t, host.URL); a.Status != http.StatusOK {
					t.Fatalf("got %+v", a)
				}
			}
			for url, s := range dying {
				s.Close()
				awaitAdmin(t, host, "/clusters", strings.TrimPrefix(url, "http://")+"::cx_active::0\n")
			}
			ours := func() (n int) {
				for _, s := range own {
					n += len(lab.Completions(s))
				}
				return n
			}
			before := ours()
			const requests = 30
			answers := make(chan lab.Answer, requests)
			for range requests {
				go func() { answers <- ask(t, host.URL) }()
			}
			for range requests {
				if a := <-answers; a.Status != http.StatusOK {
					t.Errorf("got %d %s %v", a.Status, a.Body, a.Err)
				}
			}
			got := map[string]int{"server": ours() - before}
			for i, s := range spares {
				got[fmt.Sprintf("spare %d", i)] = len(lab.Completions(s))
			}
			for who, n := range got {
				if want := map[bool]int{true: requests}[who == tt.served]; n != want {
					t.Errorf("%s has answered %d requests, want %d of %d", who, n, want, requests)
				}
			}
		}
	}
	host := lab.RunEnvoy(t, c)
	for name, run := range runs {
		t.Run(name, func(t *testing.T) { run(t, host) })
	}
}

// awaitWell waits until Envoy has found every server well. On a busy machine its first question may be too long ago
// when it comes to read the answer.
func awaitWell(t *testing.T, host *hosts.Host) {
	t.Helper()
	for end := time.Now().Add(lab.Patience); time.Now().Before(end); {
		got, err := host.Process.Get(t.Context(), "/clusters")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got), "/failed_active_hc") {
			return
		}
		time.Sleep(lab.Pause)
	}
	t.Fatal("servers are not well")
}

// awaitAdmin waits until a page of Envoy's admin interface holds a text.
func awaitAdmin(t *testing.T, host *hosts.Host, page, text string) {
	t.Helper()
	for end := time.Now().Add(lab.Patience); time.Now().Before(end); {
		got, err := host.Process.Get(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(got), text) {
			return
		}
		time.Sleep(lab.Pause)
	}
	t.Fatalf("%s has no %s", page, text)
}
