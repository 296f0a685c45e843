//go:build e2e

package hostile

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// worker is the shipped filter in one VM, in one of its hosts. A request that holds the VM holds all streams of the
// worker.
type worker struct {
	*testing.T
	limit int // of a body, in bytes
	// longest is the limit of processor time for a request, on a machine on which the yardstick takes quietYardstick or
	// less. The yardstick is measured in the same run; on a slower or busier machine the limit grows with it.
	longest, quietYardstick time.Duration
	// send sends one request. It returns the worker's processor time for the filter's reading of it, and the outcome: the
	// status and code of the filter's answer, or "sent".
	send func(path string, body []byte) (took time.Duration, said string)
	// tick runs the timer with which the filter measures its heap.
	tick func()
}

// settings returns the configuration of a gateway with one model behind servers of a kind. No server can be reached.
func settings(kind string) *config.Config {
	c := config.Default()
	c.Passthrough = "http://127.0.0.1:2"
	c.Models = []config.Model{config.DefaultModel(Model, kind+"=http://127.0.0.1:1")}
	return c
}

// hold is the effect of a request on a worker.
type hold struct {
	name string
	size int
	took time.Duration
	// said is the status and code of the filter's answer, or "sent" if the request was forwarded.
	said string
}

const sent = "sent"

// try sends one request. A worker without other streams must accept it and survive it.
func (w *worker) try(name, path string, body []byte) hold {
	w.Helper()
	took, said := w.send(path, body)
	if strings.HasPrefix(said, "429") {
		w.tick()
		if took, said = w.send(path, body); strings.HasPrefix(said, "429") {
			w.Errorf("%s, %d bytes: a worker without streams answers %s", name, len(body), said)
		}
	}
	return hold{name, len(body), took, said}
}

// answered returns the status of an answer, and its code, or its type in Anthropic's form.
func answered(status int, body []byte) string {
	var answer struct{ Error struct{ Code, Type string } }
	_ = json.Unmarshal(body, &answer) // an answer without an error has no code
	return strings.TrimSpace(strconv.Itoa(status) + " " + cmp.Or(answer.Error.Code, answer.Error.Type))
}

// yardstick returns how long a request of 100,000 tokens for a server holds the worker: the median of several.
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
