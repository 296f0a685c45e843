//go:build e2e && vllm

package vllm

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// faultLimit is how long each part of a test may take on busy cores.
const faultLimit = 5 * time.Minute

// TestFaults does to a real vLLM what happens to servers, while 12 answers are in their middle: of both APIs, streamed
// and whole, through the gateway by three kinds. docs/faults.md has the table; -update writes it.
func TestFaults(t *testing.T) {
	table := "| done to vLLM | kind | Chat, stream | Chat, whole | Responses, stream | Responses, whole |\n" +
		"|---|---|---|---|---|---|\n"
	parts := 0
	part := func(name string, rows func(*testing.T) string) {
		t.Run(name, func(t *testing.T) {
			table += rows(t)
			parts++
		})
	}
	part("full", fullServer)
	part("kill -9 of the API server", func(t *testing.T) string {
		v := servers.New(t, wideFlags...)
		return rowsOf("API server killed", strike(t, v, time.Minute, v.KillServer), nil)
	})
	part("SIGTERM", func(t *testing.T) string {
		v := servers.New(t, wideFlags...)
		return rowsOf("SIGTERM", strike(t, v, 20*time.Second, func() error {
			if err := v.Terminate(); err != nil {
				return err
			}
			killAfterGrace(t, v)
			return nil
		}), cutAnswer(t))
	})
	part("SIGTERM with --shutdown-timeout", draining)
	t.Logf("\n%s", table)
	if parts == 4 && !t.Failed() { // not with -run
		lab.ComparePageTable(t, "docs/faults.md", "make test-vllm ARGS=-update", "real vLLM", table)
	}
}

// strike calls fail while answers that have no end are in their middle.
func strike(t *testing.T, v *engines.VLLM, stall time.Duration, fail func() error) []*asked {
	t.Helper()
	return askAll(t, gatewaysBefore(t, stall, v.URL), puppet(t, endless), 0, func() {
		awaitRunning(t, v, len(faultKinds)*len(asks))
		if err := fail(); err != nil {
			t.Error(err)
		}
	})
}

// killAfterGrace kills a server that has been terminated and has not ended after a while, as Kubernetes does. A whole
// answer of Chat's that passes has no other end: the gateway does not know how long it may take.
func killAfterGrace(t *testing.T, v *engines.VLLM) {
	t.Helper()
	select {
	case <-v.Ended():
	case <-time.After(time.Minute):
		t.Log("vLLM has not ended, and is killed")
		if err := v.KillServer(); err != nil {
			t.Error(err)
		}
	}
}

// gatewaysBefore starts an Envoy for each kind.
func gatewaysBefore(t *testing.T, stall time.Duration, url string) map[string]*hosts.Host {
	t.Helper()
	gateways := map[string]*hosts.Host{}
	for _, kind := range faultKinds {
		gateways[kind] = before(t, kind, stall, url)
	}
	return gateways
}

// awaitRunning waits until so many answers are in their middle: each has had a few tokens.
func awaitRunning(t *testing.T, v *engines.VLLM, n int) {
	t.Helper()
	await(t, v, "vllm:num_requests_running", func(running float64) bool { return running >= float64(n) })
	began := metric(t, v, "vllm:generation_tokens_total")
	await(t, v, "vllm:generation_tokens_total", func(tokens float64) bool { return tokens >= began+float64(10*n) })
}

func metric(t *testing.T, v *engines.VLLM, name string) float64 {
	t.Helper()
	value, err := v.Metric(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// await waits until a metric of the server is as wanted.
func await(t *testing.T, v *engines.VLLM, name string, wanted func(float64) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), faultLimit)
	defer cancel()
	for ticks := time.Tick(100 * time.Millisecond); ; {
		if wanted(metric(t, v, name)) {
			return
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			t.Fatalf("%s is %v", name, metric(t, v, name))
		}
	}
}

// cutAnswer returns words for answers without an end that a server has cut. By chance vLLM ends them with `abort`, or
// falls silent, or sends an error. To a client all of that must be a failure.
func cutAnswer(t *testing.T) func(*asked) string {
	return func(a *asked) string {
		what := a.describe(a.got)
		t.Logf("%s %s stream=%t: %s", a.kind, a.path, a.stream, what)
		failed := a.got.Status >= 500 && a.got.ErrorCode() != "" || a.got.Status == 200 && a.stream &&
			(lab.Read(a.got.Body).Failure != "" || lab.IsReset(a.got.Err, "h1"))
		if !failed {
			t.Errorf("%s %s stream=%t: a cut answer is %s", a.kind, a.path, a.stream, what)
		}
		if a.stream {
			return "an error or a reset"
		}
		return "5xx with a code"
	}
}

// fullServer asks too much of a vLLM: more than fits its context, its KV cache and its queue. Then it kills its engine.
func fullServer(t *testing.T) string {
	const queue = 40
	v := servers.New(t, append([]string{"--num-gpu-blocks-override", "170", "--max-num-seqs", "24",
		"--max-num-queued-reqs", fmt.Sprint(queue)}, wideFlags...)...)
	gateways := gatewaysBefore(t, 2*time.Minute, v.URL)

	believing := map[string]*hosts.Host{}
	for _, kind := range faultKinds {
		believing[kind] = beforeContext(t, kind, 2*contextLength, time.Minute, v.URL)
	}
	long := strings.Repeat(" x", contextLength)
	rows := rowsOf("the prompt is longer than its context", askAll(t, believing, long, 20, func() {}), nil)
	rows += rowsOf("its KV cache is full", fillCache(t, v, gateways), func(*asked) string { return "the whole answer" })

	// Answers without an end fill the queue. vLLM counts those that run too.
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for range queue + 4 {
		go func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, v.URL+lab.ChatPath,
				strings.NewReader(asks[0].body(strings.Repeat("x ", 20), 8000)))
			if err != nil {
				return
			}
			r.Header.Set("content-type", "application/json")
			if response, err := http.DefaultClient.Do(r); err == nil {
				<-ctx.Done()
				_ = response.Body.Close()
			}
		}()
	}
	await(t, v, "vllm:num_requests_waiting", func(n float64) bool { return n >= queue-24 })
	rows += rowsOf("its queue is full (`--max-num-queued-reqs`)",
		askAll(t, gateways, puppet(t, endless), 0, func() {}), nil)
	leave()
	await(t, v, "vllm:num_requests_running", func(n float64) bool { return n == 0 })

	return rows + rowsOf("engine killed", strike(t, v, time.Minute, v.KillEngine), nil)
}

// fillCache asks for more than the cache has room for at once. Some answers are preempted, and computed again. All must
// be exact.
func fillCache(t *testing.T, v *engines.VLLM, gateways map[string]*hosts.Host) []*asked {
	t.Helper()
	words := func(i int) string { return strings.Repeat(fmt.Sprintf("%d bottles. ", i), 90) }
	rounds := make([][]*asked, 2)
	var both sync.WaitGroup
	for round := range rounds {
		both.Go(func() {
			first := 100 * round
			rounds[round] = askEach(t, gateways, func(i int) string {
				return puppet(t, "<|channel|>final<|message|>"+words(first+i)+"<|return|>")
			}, 0, func() {})
			for i, a := range rounds[round] {
				if read := lab.Read(a.got.Body); a.got.Status != 200 || !read.Finished() || read.Text != words(first+i) {
					t.Errorf("%s %s stream=%t: %s %v; it says %.100q, want %.20q …", a.kind, a.path, a.stream, a.describe(a.got),
						a.got.Err, read.Text, words(first+i))
				}
			}
		})
	}
	both.Wait()
	if n := metric(t, v, "vllm:num_preemptions_total"); n == 0 {
		t.Errorf("nothing was preempted: the cache was not full")
	}
	return rounds[0]
}

// draining terminates a vLLM that lets its answers end. Meanwhile it answers each new request with an empty `abort` and
// says that it is well. No client of a pool may notice.
func draining(t *testing.T) string {
	v := servers.New(t, append([]string{"--shutdown-timeout", "120"}, wideFlags...)...)
	pools := map[string]*hosts.Host{}
	for _, kind := range faultKinds {
		_, url := lab.RunSim(t, sim.Options{Kind: kind, Models: []string{lab.Model}})
		pools[kind] = before(t, kind, time.Minute, v.URL, url)
	}
	const limit = 300
	var drained []*asked
	all := askAll(t, gatewaysBefore(t, 30*time.Second, v.URL), puppet(t, endless), limit, func() {
		awaitRunning(t, v, len(faultKinds)*len(asks))
		if err := v.Terminate(); err != nil {
			t.Error(err)
		}
		awaitRefusing(t, v)
		for range 5 {
			drained = append(drained, askAll(t, pools, "Hi", 0, func() {})...)
		}
		killAfterGrace(t, v)
	})
	for _, a := range drained {
		if read := lab.Read(a.got.Body); a.got.Status != 200 || !read.Finished() || read.Text == "" {
			t.Errorf("beside a server that drains: %s %s stream=%t: %s", a.kind, a.path, a.stream, a.describe(a.got))
		}
	}
	whole := rowsOf("drains (`--shutdown-timeout`), in a pool of two", drained[:len(all)],
		func(*asked) string { return "the other server's answer" })
	return whole + rowsOf("drains, and the answer had begun", all, func(a *asked) string {
		if read := lab.Read(a.got.Body); a.got.Status == 200 && a.got.Err == nil && read.Last && read.Failure == "" &&
			(read.End == "length" || read.End == "incomplete") {
			t.Logf("%s %s stream=%t: whole", a.kind, a.path, a.stream)
		} else {
			cutAnswer(t)(a)
		}
		return "the whole answer, or as SIGTERM"
	})
}

// awaitRefusing waits until the server no longer answers new requests, and returns what it says instead.
func awaitRefusing(t *testing.T, v *engines.VLLM) lab.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), faultLimit)
	defer cancel()
	for ticks := time.Tick(100 * time.Millisecond); ; {
		a := lab.Ask(lab.HTTP1(t), v.URL+"/v1/completions",
			`{"model":"`+engines.VLLMModel+`","prompt":[1,2,3],"max_tokens":1}`)
		if a.Err != nil || a.Status != 200 || strings.Contains(a.Body, `"finish_reason":"abort"`) {
			t.Logf("a new request is %d %s (%v)", a.Status, a.Body, a.Err)
			return a
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			t.Fatal("vLLM goes on as before")
		}
	}
}
