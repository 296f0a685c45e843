//go:build e2e

package picker

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// killedDeadline is how long requests wait in the queue of a picker that is killed. It is longer than everything but
// what the test waits for.
const killedDeadline = 8 * time.Second

// process is harmony picker as a program of its own.
type process struct {
	*lab.Program
	address, status string
}

// startPicker runs harmony picker for a pool of a server that works on one request.
func startPicker(t *testing.T, server, listen string) *process {
	t.Helper()
	file := lab.WriteConfig(t, fmt.Sprintf(`models: [{name: %s, pool: gpus}]
pools:
  - name: gpus
    servers: [%q]
    health: { path: none }
    policy: picker
    picker: { url: "http://127.0.0.1:9" }
    capacity: 1
    queue: { max_requests: 100, deadline: %v }
`, lab.Model, server, killedDeadline))
	p := &process{Program: lab.RunHarmony(t, nil, "picker", "--config", file, "--listen", listen, "--status",
		"127.0.0.1:0")}
	p.address = p.Announced(t, `serving Envoys on (\S+)\n`)
	p.status = p.Announced(t, `status: (http://\S+/status)\n`)
	return p
}

// class returns what the status says of the pool's only class.
func (p *process) class(t *testing.T) class {
	t.Helper()
	r, err := http.Get(p.status)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	var s struct {
		Pools []struct {
			Queue struct {
				Classes []class `json:"classes"`
			} `json:"queue"`
		} `json:"pools"`
	}
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	if err != nil || len(s.Pools) != 1 || len(s.Pools[0].Queue.Classes) != 1 {
		t.Fatalf("the status is %s %v", body, err)
	}
	return s.Pools[0].Queue.Classes[0]
}

// runKilled runs a picker, an Envoy and a server that holds its answers. The server works on a request, and n wait.
func runKilled(t *testing.T, on string, n int) (p *process, q *queueing, first, waiting chan lab.Answer) {
	t.Helper()
	q = &queueing{log: filepath.Join(t.TempDir(), "access.json")}
	q.servers, q.urls = sims(t, 1, sim.Options{Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(lab.SixWords)}),
		HoldAfter: 2})
	p = startPicker(t, q.urls[0], "127.0.0.1:0")
	c := pickedOf(config.Picker{URL: "http://" + p.address, Timeout: config.Duration(pickerTimeout), OnFailure: on},
		q.urls...)
	c.AccessLog = q.log
	c.Pools[0].Capacity, c.Pools[0].Queue = 1, config.Queue{MaxRequests: 100, Deadline: config.Duration(killedDeadline)}
	q.host = lab.RunEnvoy(t, c)
	first = q.busy(t)
	waiting = q.send(t, n)
	until(t, "requests wait", func() bool { return p.class(t).Requests == n })
	return p, q, first, waiting
}

// TestPickerKilledWithQueue: the picker is killed while requests wait. They end at once, as on_failure says. The next
// picker begins with empty books, and admits, and its books balance.
func TestPickerKilledWithQueue(t *testing.T) {
	for _, on := range []string{config.OnFailureFallback, config.OnFailureRefuse} {
		t.Run(on, func(t *testing.T) {
			const n = 5
			p, q, first, waiting := runKilled(t, on, n)
			began := time.Now()
			if err := p.Cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			// One more goes to the server with fallback: Envoy bounds what comes at once to twice the capacity.
			refused := map[string]int{config.OnFailureFallback: n - 1, config.OnFailureRefuse: n}[on]
			code := map[string]string{config.OnFailureFallback: "server_overloaded",
				config.OnFailureRefuse: "server_unavailable"}[on]
			for range refused {
				if a := <-waiting; a.ErrorCode() != code {
					t.Errorf("got %d %s %v", a.Status, a.Body, a.Err)
				}
			}
			if d := time.Since(began); d > killedDeadline {
				t.Errorf("requests have waited %s for a picker that is dead", d)
			}
			q.release()
			wantAnswers(t, first, 1)
			wantAnswers(t, waiting, n-refused)
			until(t, "the dead picker's address is free", func() bool {
				l, err := net.Listen("tcp", p.address)
				return err == nil && l.Close() == nil
			})
			next := startPicker(t, q.urls[0], p.address)
			wantAnswers(t, q.send(t, n), n)
			until(t, "its books balance", func() bool {
				c := next.class(t)
				return c.Requests == 0 && c.Ended["admitted"] == n
			})
			if got := len(logged(t, q.log, 1+2*n, "status")); got != 1+2*n {
				t.Errorf("the log has %d requests", got)
			}
		})
	}
}

// TestPickerFreezesWithQueue: the picker's machine stops without a word. Requests that wait end when their time is over,
// and a little after at most.
func TestPickerFreezesWithQueue(t *testing.T) {
	const n = 3
	p, q, first, waiting := runKilled(t, config.OnFailureRefuse, n)
	began := time.Now()
	if err := p.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Cmd.Process.Kill() })
	for range n {
		lab.WantRefused(t, <-waiting, 503, "server_unavailable")
	}
	if d := time.Since(began); d > killedDeadline+10*time.Second {
		t.Errorf("requests have waited %s for a picker that is silent", d)
	}
	q.release()
	wantAnswers(t, first, 1)
	if err := p.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wantAnswers(t, q.send(t, 1), 1)
	until(t, "its books balance", func() bool {
		c := p.class(t)
		sum := 0
		for _, ended := range c.Ended {
			sum += ended
		}
		return c.Requests == 0 && sum == 1+n+1
	})
}

// restarting is a server that is restarted at its address, as a process is: it takes no new connections, answers what
// it works on, ends, and comes again.
type restarting struct {
	address string
	server  *http.Server
	sim     *sim.Server
	ended   chan error
}

func (r *restarting) start(t *testing.T) {
	t.Helper()
	r.sim = sim.New(sim.Options{Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(lab.SixWords)}), TokensPerSecond: 100})
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	r.address = l.Addr().String()
	r.server, r.ended = &http.Server{Handler: r.sim.Handler()}, make(chan error, 1)
	go func() { r.ended <- r.server.Serve(l) }()
}

func (r *restarting) stop(t *testing.T) {
	t.Helper()
	if err := r.server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	<-r.ended
	r.sim.Close()
}

// TestRollingRestart restarts four servers one after another while more is asked of them than they can do. Each request
// is answered, whether the picker knows beforehand that the server goes or not.
func TestRollingRestart(t *testing.T) {
	for _, told := range []bool{true, false} {
		t.Run(fmt.Sprint("told ", told), func(t *testing.T) {
			const servers, clients = 4, 16
			all, urls := make([]restarting, servers), []string{}
			for i := range all {
				all[i].address = "127.0.0.1:0"
				all[i].start(t)
				urls = append(urls, "http://"+all[i].address)
			}
			o := queueOf(time.Minute)
			o.Capacity = 2
			q := runQueueFor(t, urls, o, nil)
			var answered atomic.Int64
			stop, ended := make(chan struct{}), make(chan map[string]int, clients)
			for range clients {
				go func() { ended <- keepAsking(t, q.host, &answered, stop) }()
			}
			for i := range all {
				from := answered.Load()
				until(t, "requests are answered", func() bool { return answered.Load() >= from+2*clients })
				if told {
					q.setOnly(append(append([]string{}, urls[:i]...), urls[i+1:]...))
				}
				all[i].stop(t)
				from = answered.Load()
				until(t, "the others answer", func() bool { return answered.Load() >= from+2*clients })
				all[i].start(t)
				q.setOnly(urls)
				until(t, "it answers again", func() bool { return len(lab.Completions(all[i].sim)) > 0 })
			}
			close(stop)
			for range clients {
				for what, times := range <-ended {
					t.Errorf("%d requests: %s", times, what)
				}
			}
			t.Logf("%d requests were answered", answered.Load())
			for i := range all {
				all[i].stop(t)
			}
		})
	}
}

// keepAsking sends requests one after another until stop is closed, and returns what was wrong with the answers.
func keepAsking(t *testing.T, host *hosts.Host, answered *atomic.Int64, stop chan struct{}) map[string]int {
	wrong, client := map[string]int{}, lab.HTTP1(t)
	for {
		select {
		case <-stop:
			return wrong
		default:
		}
		if a := lab.AskChat(client, host.URL); a.Status != 200 || a.Err != nil {
			wrong[fmt.Sprintf("%d %.200s %v", a.Status, a.Body, a.Err)]++
		}
		answered.Add(1)
	}
}
