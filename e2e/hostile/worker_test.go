//go:build e2e

package hostile

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
)

// worker is the filter that ships in one VM, in one of its hosts: what holds the VM holds all streams of the worker.
type worker struct {
	*testing.T
	limit int // of a body, in bytes
	// longest is how long a request may hold the worker, in processor time, on a machine where the yardstick, which is measured
	// beside it, holds it for quietYardstick or less; on a slower or busier one all takes longer.
	longest, quietYardstick time.Duration
	// send sends one request. It returns the processor time of the worker that the filter's reading of it took, and what came of
	// it: the status and code of an answer of the filter's, or sent.
	send func(path string, body []byte) (took time.Duration, said string)
	// tick lets the filter look at its heap, which it does by a timer.
	tick func()
}

// settings are those of a gateway with one model; no server of it can be reached.
func settings() *config.Config {
	c := config.Default()
	c.Passthrough = "http://127.0.0.1:2"
	c.Models = []config.Model{config.DefaultModel(Model, "vllm=http://127.0.0.1:1")}
	return c
}

// hold is what a request was to a worker.
type hold struct {
	name string
	size int
	took time.Duration
	// said is the status and code of an answer from here, or that the request has gone on.
	said string
}

const sent = "sent"

// try sends one request. A worker that has no other stream must take it, and must survive it.
func (w *worker) try(name, path string, body []byte) hold {
	w.Helper()
	took, said := w.send(path, body)
	if strings.HasPrefix(said, "503") {
		w.tick()
		if took, said = w.send(path, body); strings.HasPrefix(said, "503") {
			w.Errorf("%s, %d bytes: a worker without streams answers %s", name, len(body), said)
		}
	}
	return hold{name, len(body), took, said}
}

// answered is the status and code of an answer.
func answered(status int, body []byte) string {
	var answer struct{ Error struct{ Code string } }
	_ = json.Unmarshal(body, &answer) // an answer without an error has no code
	return strings.TrimSpace(strconv.Itoa(status) + " " + answer.Error.Code)
}

// yardstick is how long the worker is held by 100,000 tokens that go to a server: the median of some.
func (w *worker) yardstick() time.Duration {
	w.Helper()
	text := strings.Repeat(" the quick brown fox jumps over a lazy dog while", 10_000)
	body := []byte(`{"model":"` + Model + `","messages":[{"role":"user","content":"` + text + `"}]}`)
	var took []time.Duration
	for range 9 {
		h := w.try("the yardstick", "/v1/chat/completions", body)
		if h.said != sent {
			w.Fatalf("the yardstick is answered %s", h.said)
		}
		took = append(took, h.took)
	}
	slices.Sort(took)
	return took[len(took)/2]
}
