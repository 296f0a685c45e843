//go:build e2e

package picker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/picker/queue"
	"github.com/harmonyedge/harmonyedge/controlplane/picker/wake"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// queueing is a picker of ours with a queue that runs, an Envoy that asks it, and the pool's servers.
type queueing struct {
	picker  *picker.Picker
	service *picker.Service
	host    *hosts.Host
	servers []*sim.Server
	urls    []string
	stop    func() // the picker's
	log     string
	config  func() *config.Config
}

// pickerTimeout is how long Envoy waits for a picker that says nothing. Busy machines need more than the default.
const pickerTimeout = 2 * time.Second

// queueOf is the queue of a pool whose servers take one request each.
func queueOf(deadline time.Duration) picker.QueueOptions {
	return picker.QueueOptions{Capacity: 1, BlockSize: 16, Classes: []string{"interactive", "batch"},
		Deadlines: []time.Duration{deadline, deadline}, ClassOf: func(client string) (class, weight int) {
			if client == "nightly" {
				return 1, 1
			}
			return 0, 1
		}}
}

// runQueue runs it all, with n servers that hold their answers until they are released.
func runQueue(t *testing.T, n int, o picker.QueueOptions, change func(*config.Config)) *queueing {
	t.Helper()
	script := sim.NewScript(sim.Line{Tokens: lab.Tokens(lab.SixWords)})
	servers, urls := sims(t, n, sim.Options{Script: script, HoldAfter: 2})
	q := runQueueFor(t, urls, o, change)
	q.servers = servers
	return q
}

// runQueueFor runs a picker and an Envoy for servers.
func runQueueFor(t *testing.T, urls []string, o picker.QueueOptions, change func(*config.Config)) *queueing {
	t.Helper()
	q := &queueing{picker: picker.New(picker.Options{}), log: filepath.Join(t.TempDir(), "access.json"), urls: urls}
	q.picker.SetQueues(map[string]picker.QueueOptions{"gpus": o})
	q.setOnly(urls)
	q.service = picker.NewService(q.picker, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.service.Serve(ctx, l) }()
	stopped := false
	q.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(q.stop)
	q.config = func() *config.Config {
		c := pickedOf(config.Picker{URL: "http://" + l.Addr().String(), Timeout: config.Duration(pickerTimeout)},
			q.urls...)
		c.AccessLog = q.log
		c.Pools[0].Capacity, c.Pools[0].Queue = o.Capacity, config.Queue{MaxRequests: 1000,
			Deadline: config.Duration(o.Deadlines[0]), Hold: config.Duration(o.Hold)}
		c.Clients = config.Clients{Header: "x-client", Required: false,
			Classes: []config.Class{{Name: "interactive"}, {Name: "batch"}}}
		if change != nil {
			change(c)
		}
		return c
	}
	q.host = lab.RunEnvoy(t, q.config())
	return q
}

// set makes the picker know the first n servers.
func (q *queueing) set(n int) { q.setOnly(q.urls[:n]) }

// setOnly makes the picker know these servers.
func (q *queueing) setOnly(urls []string) {
	var all []picker.Server
	for _, url := range urls {
		all = append(all, picker.Server{Address: netip.MustParseAddrPort(strings.TrimPrefix(url, "http://")), Requests: -1})
	}
	q.picker.Set(map[string][]picker.Server{"gpus": all})
}

// class is what the picker's status says of a class.
type class struct {
	Requests int            `json:"requests"`
	Ended    map[string]int `json:"ended"`
}

func (q *queueing) classes(t *testing.T) (all []class) {
	t.Helper()
	w := httptest.NewRecorder()
	q.service.StatusHandler().ServeHTTP(w, httptest.NewRequest("GET", "/status", nil))
	var s struct {
		Pools []struct {
			Queue struct {
				Classes []class `json:"classes"`
			} `json:"queue"`
		} `json:"pools"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || len(s.Pools) != 1 {
		t.Fatalf("the status is %s", w.Body)
	}
	return s.Pools[0].Queue.Classes
}

// waiting waits until so many requests wait.
func (q *queueing) waiting(t *testing.T, n int) {
	t.Helper()
	until(t, fmt.Sprint(n, " requests wait"), func() bool {
		sum := 0
		for _, c := range q.classes(t) {
			sum += c.Requests
		}
		return sum == n
	})
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(lab.Patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what + ": it does not become so")
		}
	}
}

// send sends n requests, and returns where their answers come.
func (q *queueing) send(t *testing.T, n int, headers ...string) chan lab.Answer {
	t.Helper()
	answers := make(chan lab.Answer, n)
	for range n {
		go func() { answers <- lab.AskChat(lab.HTTP1(t), q.host.URL, headers...) }()
	}
	return answers
}

// busy makes every server work on a request, which it holds.
func (q *queueing) busy(t *testing.T) chan lab.Answer {
	t.Helper()
	answers := q.send(t, len(q.servers))
	until(t, "the servers work", func() bool { return sum(servedBy(q.servers)) == len(q.servers) })
	return answers
}

func (q *queueing) release() {
	for _, s := range q.servers {
		s.Release()
	}
}

func wantAnswers(t *testing.T, answers chan lab.Answer, n int) {
	t.Helper()
	for range n {
		if a := <-answers; a.Status != 200 || a.Err != nil {
			t.Errorf("got %d %s %v", a.Status, a.Body, a.Err)
		}
	}
}

// TestQueue: a burst beyond the capacity waits, longer than Envoy waits for a picker, and is answered. No server ever
// has more than its capacity. The log says how long each has waited.
func TestQueue(t *testing.T) {
	q := runQueue(t, 2, queueOf(time.Minute), nil)
	first := q.busy(t)
	later := q.send(t, 20)
	nightly := q.send(t, 2, "x-client", "nightly")
	q.waiting(t, 22)
	if c := q.classes(t); c[0].Requests != 20 || c[1].Requests != 2 {
		t.Errorf("waiting are %+v", c)
	}
	<-time.After(pickerTimeout + time.Second) // Envoy would have given the picker up
	if n := sum(servedBy(q.servers)); n != 2 {
		t.Errorf("the servers have got %d requests", n)
	}
	q.release()
	wantAnswers(t, first, 2)
	wantAnswers(t, later, 20)
	wantAnswers(t, nightly, 2)
	waits := logged(t, q.log, 24, "queued_ms")
	waited := 0
	for _, text := range waits {
		if ms, err := strconv.ParseFloat(text, 64); err != nil {
			t.Errorf("the log has queued_ms %s", text)
		} else if ms >= float64(pickerTimeout.Milliseconds()) {
			waited++
		}
	}
	if waited != 22 {
		t.Errorf("%d have waited: %v", waited, waits)
	}
	if all := logged(t, q.log, 24, "class"); strings.Count(strings.Join(all, " "), "batch") != 2 {
		t.Errorf("the classes are %v", all)
	}
	for i, c := range q.classes(t) {
		if n := c.Ended["admitted"]; n != []int{22, 2}[i] {
			t.Errorf("%d of class %d were admitted", n, i)
		}
	}
}

// TestQueueRefuses: what the clients of both APIs get whose requests may not wait, or not longer.
func TestQueueRefuses(t *testing.T) {
	o := queueOf(time.Minute)
	o.Client = queue.Limits{Requests: 1}
	q := runQueue(t, 1, o, nil)
	first := q.busy(t)
	began := time.Now()
	refused := func(a lab.Answer) {
		t.Helper()
		lab.WantRefused(t, a, 429, "server_overloaded")
		if n, err := strconv.Atoi(a.Header.Get("retry-after")); err != nil || n < 1 || n > 600 {
			t.Errorf("retry-after is %q", a.Header.Get("retry-after"))
		}
	}
	refused(lab.AskChat(lab.HTTP1(t), q.host.URL, "x-request-timeout", "0.5"))
	if d := time.Since(began); d < 400*time.Millisecond || d > 5*time.Second {
		t.Errorf("a request with half a second has waited %s", d)
	}
	a := lab.Do(lab.HTTP1(t), http.MethodPost, q.host.URL+"/v1/messages", http.Header{"x-request-timeout": {"0"},
		"anthropic-version": {"2023-06-01"}, "content-type": {"application/json"}},
		strings.NewReader(`{"model":"`+lab.Model+`","max_tokens":100,"messages":[{"role":"user","content":"Hi"}]}`))
	if a.Status != 429 || !strings.HasPrefix(a.Body, `{"type":"error","error":{"type":"rate_limit_error"`) ||
		a.Header.Get("retry-after") == "" {
		t.Errorf("got %d %v %s", a.Status, a.Header, a.Body)
	}
	second := q.send(t, 1)
	q.waiting(t, 1)
	refused(lab.AskChat(lab.HTTP1(t), q.host.URL))
	other := q.send(t, 1, "x-client", "other")
	q.waiting(t, 2)
	q.release()
	wantAnswers(t, first, 1)
	wantAnswers(t, second, 1)
	wantAnswers(t, other, 1)
	if ended := q.classes(t)[0].Ended; ended["deadline"] != 2 || ended["client_full"] != 1 || ended["admitted"] != 3 {
		t.Errorf("ended have %v", ended)
	}
}

// TestQueuedClientLeaves: a client that leaves gives up its place, also when its whole Envoy does.
func TestQueuedClientLeaves(t *testing.T) {
	q := runQueue(t, 1, queueOf(time.Minute), nil)
	first := q.busy(t)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, q.host.URL+lab.ChatPath,
			strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
		_, err := lab.HTTP1(t).Do(r)
		left <- err
	}()
	q.waiting(t, 1)
	leave()
	if err := <-left; err == nil {
		t.Error("the client has an answer")
	}
	q.waiting(t, 0)
	if n := q.classes(t)[0].Ended["left"]; n != 1 {
		t.Errorf("%d have left", n)
	}
	q.release()
	wantAnswers(t, first, 1)
	if n := sum(servedBy(q.servers)); n != 1 {
		t.Errorf("the servers have got %d requests", n)
	}
}

// TestPickerDiesWithQueue: nothing hangs. Requests that wait go on as on_failure says.
func TestPickerDiesWithQueue(t *testing.T) {
	for _, on := range []string{config.OnFailureFallback, config.OnFailureRefuse} {
		t.Run(on, func(t *testing.T) {
			q := runQueue(t, 1, queueOf(time.Minute), func(c *config.Config) { c.Pools[0].Picker.OnFailure = on })
			first := q.busy(t)
			waiting := q.send(t, 5)
			q.waiting(t, 5)
			q.stop()
			refused, full := 0, 0
			if on == config.OnFailureFallback {
				// One more goes to the server: Envoy bounds what comes at once to twice the capacity.
				until(t, "a request goes on", func() bool { return sum(servedBy(q.servers)) == 2 })
			}
			for range map[string]int{config.OnFailureFallback: 4, config.OnFailureRefuse: 5}[on] {
				switch a := <-waiting; a.ErrorCode() {
				case "server_unavailable":
					refused++
				case "server_overloaded":
					full++
				default:
					t.Errorf("got %d %s %v", a.Status, a.Body, a.Err)
				}
			}
			if on == config.OnFailureFallback && full != 4 || on == config.OnFailureRefuse && refused != 5 {
				t.Errorf("%d are refused, %d meet a full pool", refused, full)
			}
			q.release()
			wantAnswers(t, first, 1)
			if on == config.OnFailureFallback {
				wantAnswers(t, waiting, 1)
			}
		})
	}
}

// TestServerDiesWithQueue: the server that works dies. What waits goes to the other one.
func TestServerDiesWithQueue(t *testing.T) {
	q := runQueue(t, 2, queueOf(time.Minute), nil)
	first := q.busy(t)
	waiting := q.send(t, 4)
	q.waiting(t, 4)
	q.servers[0].Close()
	q.servers[1].Release()
	wantAnswers(t, waiting, 4)
	for range 2 { // the one at the dead server may be answered by the other, or has an error: it does not hang
		<-first
	}
}

// TestEnvoyDiesWithQueue: an Envoy that ends takes its requests out of the queue.
func TestEnvoyDiesWithQueue(t *testing.T) {
	q := runQueue(t, 1, queueOf(time.Minute), nil)
	c := q.config()
	second, err := hosts.EnvoyWith(hosts.Setup{Config: c}, lab.Resources(t, c)) // the lab's own must not end
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	t.Cleanup(func() {
		if !ended {
			second.Stop()
		}
	})
	first := q.busy(t)
	stays := q.send(t, 1)
	q.waiting(t, 1)
	gone := make(chan lab.Answer, 3)
	for range 3 {
		go func() { gone <- lab.AskChat(lab.HTTP1(t), second.URL) }()
	}
	q.waiting(t, 4)
	second.Stop()
	ended = true
	for range 3 {
		if a := <-gone; a.Err == nil && a.Status == 200 {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	}
	q.waiting(t, 1)
	q.release()
	wantAnswers(t, first, 1)
	wantAnswers(t, stays, 1)
}

// TestZeroToOne: without a server, requests are held, a server is asked for, and the first one that comes gets them. No
// request fails. Without one in time they are refused.
func TestZeroToOne(t *testing.T) {
	asked := make(chan string, 10)
	scaler := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	t.Cleanup(scaler.Close)
	caller := wake.New(slog.New(slog.DiscardHandler))
	o := queueOf(time.Minute)
	o.Hold = 20 * time.Second
	o.Wake = func(queue.Amount) { caller.Go(t.Context(), wake.Call{URL: scaler.URL + "/wake/gpus", Pool: "gpus"}) }
	q := runQueue(t, 1, o, nil)
	q.release()
	q.set(0)
	answers := q.send(t, 10)
	q.waiting(t, 10)
	if path := <-asked; path != "/wake/gpus" {
		t.Errorf("asked was %s", path)
	}
	q.set(1)
	wantAnswers(t, answers, 10)
	if len(asked) != 0 {
		t.Errorf("a server was asked for once more: %s", <-asked)
	}
	o.Hold = time.Second
	q.picker.SetQueues(map[string]picker.QueueOptions{"gpus": o})
	q.set(0)
	a := lab.AskChat(lab.HTTP1(t), q.host.URL)
	lab.WantRefused(t, a, 503, "server_unavailable")
	if a.Header.Get("retry-after") == "" {
		t.Error("the refusal does not say when to try again")
	}
	caller.Wait()
}

// TestLimitsBeforeQueue: a request beyond its client's limit does not wait.
func TestLimitsBeforeQueue(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	const limited = "clients: [{name: team, limits: {requests_per_minute: 2}}]\n"
	if err := os.WriteFile(keys, []byte(limited), 0o600); err != nil {
		t.Fatal(err)
	}
	q := runQueue(t, 1, queueOf(time.Minute), func(c *config.Config) {
		c.Clients.KeysFile, c.Limits.Mode = keys, config.LimitsLocal
	})
	first := q.busy(t)
	waiting := q.send(t, 2, "x-client", "team")
	q.waiting(t, 2)
	lab.WantRefused(t, lab.AskChat(lab.HTTP1(t), q.host.URL, "x-client", "team"), 429, "rate_limit_exceeded")
	q.waiting(t, 2)
	q.release()
	wantAnswers(t, first, 1)
	wantAnswers(t, waiting, 2)
}
