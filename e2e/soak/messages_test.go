//go:build e2e

package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// patience is how long a step may take on a busy machine.
const patience = time.Minute

// TestSoakMessages asks models that have lost their format: most of them write 13,000 messages in one answer. At the
// end the heap must be as large as at the start, no VM may be lost, and an idle worker must answer at once. `make soak`
// sends 1,000 requests to each host, `make test` a tenth.
func TestSoakMessages(t *testing.T) {
	lab.Long(t, "soak")
	onHosts(t, 1_000, messages)
}

const (
	inAnswer = 13_000
	// fewMessages is the number of messages in every fourth answer. It is within the filter's limit, so the filter does
	// not end that answer.
	fewMessages = 1_000
)

// longAnswer returns a server's stream with so many messages, 100 in an event.
func longAnswer(messages int) string {
	const event = `data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"gpt-oss-120b",` +
		`"choices":[{"index":0,"text":"","token_ids":[%s],"finish_reason":%s}]}` + "\n\n"
	// <|start|>assistant<|channel|>analysis<|message|>…<|end|>
	hundred := strings.TrimSuffix(strings.Repeat("200006,173781,200005,35644,200008,12194,200007,", 100), ",")
	var b strings.Builder
	for i := 0; i < messages; i += 100 {
		fmt.Fprintf(&b, event, hundred, "null")
	}
	fmt.Fprintf(&b, event, "200006,173781,200005,17196,200008,12194,200002", `"stop"`)
	return b.String() + "data: [DONE]\n\n"
}

// forms are the forms of an answer, with the request that asks for each.
var forms = []struct{ path, body string }{
	{"/v1/responses", `{"model":"` + model + `","stream":true,"input":"Hi"}`},
	{"/v1/responses", `{"model":"` + model + `","input":"Hi"}`},
	{"/v1/chat/completions", `{"model":"` + model + `","stream":true,"messages":[{"role":"user","content":"Hi"}]}`},
	{"/v1/chat/completions", `{"model":"` + model + `","messages":[{"role":"user","content":"Hi"}]}`},
	{"/v1/messages", `{"model":"` + model + `","max_tokens":131072,"stream":true,` +
		`"messages":[{"role":"user","content":"Hi"}]}`},
	{"/v1/messages", `{"model":"` + model + `","max_tokens":131072,"thinking":{"type":"adaptive"},` +
		`"messages":[{"role":"user","content":"Hi"}]}`},
}

func messages(t *testing.T, start startHost, requests int) {
	many, few := longAnswer(inAnswer), longAnswer(fewMessages)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("content-type", "text/event-stream; charset=utf-8")
		said := many
		if asked.Add(1)%4 == 0 {
			said = few
		}
		_, _ = io.WriteString(w, said) // fails if the gateway leaves early
	}))
	defer server.Close()
	c := config.Default()
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	c.Models = []config.Model{config.DefaultModel(model, "vllm="+server.URL)}
	host, err := start(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Stop()

	began := time.Now()
	atStart, ended := uint64(0), map[string]int{}
	for i := range requests {
		form := forms[i%len(forms)]
		if i/len(forms)%2 == 1 { // so that each form has answers of both kinds
			form = forms[(i+1)%len(forms)]
		}
		said, status, err := ask(host.URL+form.path, form.body)
		switch {
		case err == nil && strings.Contains(said, "messages in one answer"):
			ended["with the error"]++
		case err == nil && status == http.StatusOK:
			ended["whole"]++
		default:
			t.Fatalf("request %d: %d %v %.300s", i, status, err, said)
		}
		if i == len(forms) {
			atStart = settled(t, host)
		}
	}
	atEnd := settled(t, host)
	t.Logf("%d requests with %d messages in answers, %s: %v; the heap had %d KiB in use, and has %d", requests,
		requests*3/4*inAnswer+requests/4*fewMessages, time.Since(began).Round(time.Second), ended, atStart>>10, atEnd>>10)
	if ended["with the error"] == 0 || ended["whole"] == 0 {
		t.Errorf("answers ended %v", ended)
	}
	// This is for buffers that stay for the next request, and for the garbage of a quiet heap (RATIONALE.md#110). The
	// memory that a leak leaves grows with the number of requests.
	const slack = 8 * little
	if atEnd > atStart+slack {
		t.Errorf("the heap has grown from %d to %d KiB", atStart>>10, atEnd>>10)
	}
	if n := metric(t, host, "harmony_vm_ended_full_total"); n != 0 {
		t.Errorf("%d VMs were full and have ended themselves", n)
	}
	at := time.Now()
	if said, status, err := ask(host.URL+forms[3].path, forms[3].body); status == http.StatusServiceUnavailable ||
		err != nil {
		t.Errorf("a worker that has nothing to do says %d %v %.300s", status, err, said)
	}
	if took := time.Since(at); took > time.Second {
		t.Errorf("a worker that has nothing to do answered after %s", took)
	}
}

func ask(url, body string) (string, int, error) {
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if errors.Is(err, io.ErrUnexpectedEOF) && strings.Contains(string(said), "messages in one answer") {
		err = nil // after its error event, a stream is cut if its server goes on
	}
	return string(said), response.StatusCode, err
}

// little is what the filter's timer itself may leave as garbage between two measurements.
const little = 1 << 20

// settled returns the bytes of heap in use, once the filter's timer finds nothing more to collect. The first
// measurement after a request collects nothing, because a stream was busy just before.
func settled(t *testing.T, host *hosts.Host) uint64 {
	t.Helper()
	const ticks = time.Second // some ticks of the timer
	last, since := metric(t, host, "harmony_vm_heap_bytes"), time.Now()
	for end := since.Add(patience); time.Since(since) < ticks && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if now := metric(t, host, "harmony_vm_heap_bytes"); max(now, last)-min(now, last) > little {
			last, since = now, time.Now()
		}
	}
	return last
}

// metric reads one of the filter's counters or gauges.
func metric(t *testing.T, host *hosts.Host, name string) uint64 {
	t.Helper()
	if host.Server != nil {
		return host.Server.Proxy().Metrics()[name]
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stats, err := host.Process.Get(ctx, "/stats?filter="+name)
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut(strings.TrimSpace(string(stats)), ": ")
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		t.Fatalf("%s: %q", name, stats)
	}
	return n
}
