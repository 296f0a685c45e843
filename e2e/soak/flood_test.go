//go:build e2e

package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hostile"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestFlood sends mixed requests to one worker: ordinary ones, hostile ones as large as a body may be, some whose
// clients leave before the end, and some whose servers fail. Meanwhile other clients read long streams of the same
// worker. The test fails if
//
//   - a VM is lost, another stream is cut, or an ordinary request fails;
//   - the memory of Envoy itself grows after the first quarter;
//   - the heap of the VM does not become small again after the flood;
//   - the worker at the end takes more than a second to answer.
//
// The VMs' memories are not compared: a wasm memory grows when large requests happen to meet, and never shrinks.
// `make soak` sends 20,000 requests to each host, `make e2e` 400.
func TestFlood(t *testing.T) { onHosts(t, sized(400, 20_000), runFlood) }

const (
	floodClients = 6
	longStreams  = 20
	// floodPatience is how long a step may take on a busy machine.
	floodPatience = time.Minute
	// envoySlack is how much the memory of Envoy itself may vary over time, in bytes: one body of each client.
	envoySlack = 32 << 20
	// heapSlack is how much more of a VM's heap may be in use after the flood than before it, in bytes: the buffers that
	// stay for the largest request, and garbage.
	heapSlack = 64 << 20
	// wasteful is a family whose requests leave 4 MiB of garbage each.
	wasteful = "chat: a long role"
)

type flood struct {
	*testing.T
	host     *hosts.Host
	limit    int
	families []hostile.Family
	ended    chan struct{}

	mu     sync.Mutex
	counts map[string]int
	// gap is the longest time in which a long stream received nothing.
	gap time.Duration
}

func runFlood(t *testing.T, start startHost, requests int) {
	server, others := newFloodServer(t), newFloodServer(t)
	c := config.Default()
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	c.Passthrough = others.URL
	c.Models = []config.Model{config.DefaultModel(model, "vllm="+server.URL)}
	host, err := start(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Stop()
	f := &flood{T: t, host: host, limit: int(c.BodyLimit), families: hostile.All(), ended: server.ended,
		counts: map[string]int{}}

	heapBefore := settled(t, host)

	var streams, clients sync.WaitGroup
	running := make(chan struct{}, longStreams)
	for i := range longStreams {
		streams.Go(func() { f.longStream(i, running) })
	}
	for range longStreams {
		select {
		case <-running:
		case <-time.After(floodPatience):
			t.Fatal("the long streams do not begin")
		}
	}
	began := time.Now()
	var next atomic.Int64
	var quarter, most hosts.Memory
	for range floodClients {
		clients.Go(func() {
			for {
				i := int(next.Add(1))
				if i > requests || t.Failed() {
					return
				}
				f.request(i)
				if i%max(requests/20, 1) != 0 {
					continue
				}
				used := f.memory()
				f.mu.Lock()
				if i <= requests/4 {
					quarter = larger(quarter, used)
				}
				most = larger(most, used)
				f.mu.Unlock()
				t.Logf("%5d requests: %s", i, memoryText(used))
			}
		})
	}
	clients.Wait()
	close(server.ended)
	streams.Wait()
	t.Logf("%d requests in %s: %v; a long stream got nothing for %s at most", requests,
		time.Since(began).Round(time.Second), f.counts, f.gap.Round(time.Millisecond))
	t.Logf("at most in the first quarter: %s; over all: %s", memoryText(quarter), memoryText(most))
	if most.Other > quarter.Other+envoySlack {
		t.Errorf("Envoy itself has grown from %d to %d MiB", quarter.Other>>20, most.Other>>20)
	}
	f.awaitHeap(heapBefore + heapSlack)
	if n := f.lostVMs(); n != 0 {
		t.Errorf("%d VMs were lost", n)
	}
	at := time.Now()
	if a := f.ask(context.Background(), "/v1/chat/completions",
		strings.NewReader(ordinary(0, ""))); a.status != http.StatusOK {
		t.Errorf("a worker without streams says %s", a)
	}
	if took := time.Since(at); took > time.Second {
		t.Errorf("a worker without streams answers after %s", took)
	}
}

// request sends request number i of a flood.
func (f *flood) request(i int) {
	rng := rand.New(rand.NewPCG(uint64(i), 9))
	switch kind := rng.IntN(100); {
	case kind < 12:
		family := &f.families[rng.IntN(len(f.families))]
		size := f.limit >> rng.IntN(8)
		body := family.Body(size-rng.IntN(2), uint64(i))
		f.count("hostile", f.ask(f.Context(), family.Path, bytes.NewReader(body)))
	case kind < 18: // a client that leaves while it sends its request
		ctx, cancel := context.WithCancel(f.Context())
		body := f.families[rng.IntN(len(f.families))].Body(f.limit>>rng.IntN(6), uint64(i))
		reader := io.MultiReader(bytes.NewReader(body[:rng.IntN(len(body))]), cancelling{cancel})
		f.count("left early", f.ask(ctx, "/v1/responses", reader))
		cancel()
	case kind < 24: // a client that leaves during the answer
		ctx, cancel := context.WithTimeout(f.Context(), time.Duration(1+rng.IntN(30))*time.Millisecond)
		f.count("left late", f.ask(ctx, "/v1/chat/completions", strings.NewReader(ordinary(i, `"seed":11,`))))
		cancel()
	case kind < 34: // a client whose server fails
		f.count("server fails", f.ask(f.Context(), "/v1/chat/completions",
			strings.NewReader(ordinary(i, fmt.Sprintf(`"seed":%d,`, 12+rng.IntN(3))))))
	default:
		path, more := "/v1/chat/completions", ""
		if i%3 == 0 {
			path, more = "/v1/messages", `"max_tokens":4096,`
		}
		a := f.ask(f.Context(), path, strings.NewReader(ordinary(i, more)))
		f.count("ordinary", a)
		if a.status != http.StatusServiceUnavailable && !a.whole() {
			f.Errorf("request %d: %s", i, a)
		}
	}
}

// ordinary returns a request of a few words to Chat, or with more of it to Messages. Every other one asks for a stream.
func ordinary(i int, more string) string {
	return fmt.Sprintf(`{"model":"%s",%s"stream":%t,"messages":[{"role":"user","content":"What is the capital of `+
		`France? %s"}]}`,
		model, more, i%2 == 0, strings.Repeat("Think. ", i%50))
}

type floodAnswer struct {
	status int
	said   string
	err    error
}

func (a floodAnswer) String() string { return fmt.Sprintf("%d %v %.200s", a.status, a.err, a.said) }

// whole reports whether a is a complete ordinary answer.
func (a floodAnswer) whole() bool {
	return a.err == nil && a.status == http.StatusOK &&
		(strings.HasSuffix(a.said, "data: [DONE]\n\n") || strings.HasSuffix(a.said, `"message_stop"}`+"\n\n") ||
			strings.HasPrefix(a.said, "{") && (strings.Contains(a.said, `"finish_reason":"stop"`) ||
				strings.Contains(a.said, `"stop_reason":"end_turn"`))) && !strings.Contains(a.said, `"error":`)
}

func (f *flood) ask(ctx context.Context, path string, body io.Reader) floodAnswer {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.host.URL+path, body)
	if err != nil {
		return floodAnswer{err: err}
	}
	request.Header.Set("content-type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return floodAnswer{err: err}
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	return floodAnswer{response.StatusCode, string(said), err}
}

func (f *flood) count(kind string, a floodAnswer) {
	outcome := strconv.Itoa(a.status)
	switch {
	case errors.Is(a.err, context.Canceled), errors.Is(a.err, context.DeadlineExceeded):
		outcome = "left"
	case a.err != nil:
		outcome = "cut"
	}
	f.mu.Lock()
	f.counts[kind+" "+outcome]++
	f.mu.Unlock()
}

// longStream reads a stream that lasts as long as the flood, and records its longest gap.
func (f *flood) longStream(i int, running chan<- struct{}) {
	body := ordinary(2*i, `"seed":10,`)
	response, err := http.Post(f.host.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		f.Errorf("long stream %d: %v", i, err)
		return
	}
	defer response.Body.Close()
	running <- struct{}{}
	buffer, last, said := make([]byte, 64<<10), time.Now(), ""
	for {
		n, err := response.Body.Read(buffer)
		said = tail(said + string(buffer[:n]))
		now := time.Now()
		f.mu.Lock()
		f.gap = max(f.gap, now.Sub(last))
		f.mu.Unlock()
		last = now
		if err != nil {
			if !errors.Is(err, io.EOF) || !strings.HasSuffix(said, "data: [DONE]\n\n") {
				f.Errorf("long stream %d was cut: %v %s", i, err, said)
			}
			return
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-200):] }

// memory returns the memory in use by Envoy. Of the host in this process it returns only the VMs'.
func (f *flood) memory() hosts.Memory {
	if f.host.Server != nil {
		var used hosts.Memory
		for _, s := range f.host.Server.Proxy().Stats() {
			used.VMs += s.MemoryBytes
			used.LargestVM = max(used.LargestVM, s.MemoryBytes)
		}
		return used
	}
	used, err := hosts.MemoryOf(f.host.Process.PID())
	if err != nil {
		f.Error(err)
	}
	return used
}

func larger(a, b hosts.Memory) hosts.Memory {
	return hosts.Memory{VMs: max(a.VMs, b.VMs), Other: max(a.Other, b.Other), LargestVM: max(a.LargestVM, b.LargestVM)}
}

func memoryText(m hosts.Memory) string {
	return fmt.Sprintf("VMs %d MiB, the largest of %d; Envoy itself %d MiB", m.VMs>>20, m.LargestVM>>20, m.Other>>20)
}

// awaitHeap waits until at most limit bytes of a VM's heap are in use. Its requests leave garbage, so that the filter
// collects the heap.
func (f *flood) awaitHeap(limit uint64) {
	f.Helper()
	family := f.families[slices.IndexFunc(f.families, func(f hostile.Family) bool { return f.Name == wasteful })]
	body := family.Body(f.limit, 1)
	began := time.Now()
	for {
		used := settled(f.T, f.host)
		f.Logf("the heap has %d MiB in use, %s after the flood", used>>20, time.Since(began).Round(time.Second))
		if used <= limit {
			return
		}
		if time.Since(began) > floodPatience {
			f.Errorf("the heap has %d MiB in use, and may have %d", used>>20, limit>>20)
			return
		}
		f.ask(f.Context(), family.Path, bytes.NewReader(body))
	}
}

var vmFailures = regexp.MustCompile(`(?m)^wasm\.\S*(?:reload|fail)\S*: (\d+)`)

// lostVMs returns how many VMs have failed or were reloaded.
func (f *flood) lostVMs() int {
	n := 0
	if f.host.Server != nil {
		for _, s := range f.host.Server.Proxy().Stats() {
			n += s.Reloads + s.Backoffs
			if s.Failed {
				n++
			}
		}
		return n
	}
	stats, err := f.host.Process.Get(f.Context(), "/stats?filter=^wasm")
	if err != nil {
		f.Error(err)
	}
	for _, m := range vmFailures.FindAllStringSubmatch(string(stats), -1) {
		failed, _ := strconv.Atoi(m[1]) // the expression matches only digits
		n += failed
	}
	return n
}

// cancelling is a reader that cancels a context when it is read.
type cancelling struct{ cancel func() }

func (c cancelling) Read([]byte) (int, error) {
	c.cancel()
	return 0, io.ErrUnexpectedEOF
}
