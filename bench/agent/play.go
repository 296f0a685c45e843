package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/agents"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// sample is what a turn of a variant has measured.
type sample struct {
	// turns are the processor time of each request, in µs.
	turns []float64
	// resident is the process's memory in MiB.
	resident float64
}

// all returns the processor time of all requests, in µs.
func (s *sample) all() (sum float64) {
	for _, one := range s.turns {
		sum += one
	}
	return sum
}

// client sends requests one after the other.
type client struct{ http *http.Client }

// requestLimit is how long a request may take on a busy machine.
const requestLimit = time.Minute

func newClient(fresh bool) *client {
	return &client{&http.Client{Timeout: requestLimit,
		Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: fresh}}}
}

// send sends a request and reads its answer. It must have all words, if it is one of a model.
func (c *client) send(ctx context.Context, url, body string, words bool) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("content-type", "application/json")
	r.Header.Set("authorization", "Bearer the-agents-own-key")
	r.Header.Set("user-agent", "codex_exec/0.171.0")
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || words && strings.Count(string(answer), word) < answerWords {
		return fmt.Errorf("%s: status %d: %.300q", url, response.StatusCode, answer)
	}
	return nil
}

// play sends the requests of a round through a variant.
func (b *bench) play(ctx context.Context, v variant, l load, requests []string) (sample, error) {
	to := b.gateways.running[v][l.workers]
	path := l.form.Path()
	if v == frontEnd {
		path += "/render"
	}
	c := newClient(l.fresh)
	defer c.http.CloseIdleConnections()
	var s sample
	before, err := lab.ProcessTime(to.pid)
	if err != nil {
		return s, err
	}
	for _, body := range requests {
		if err := c.send(ctx, to.url+path, body, v == older || v == this); err != nil {
			return s, err
		}
		after, err := lab.ProcessTime(to.pid)
		if err != nil {
			return s, err
		}
		s.turns = append(s.turns, float64(after-before)/float64(time.Microsecond))
		before = after
	}
	kib, err := hosts.ResidentKiB(to.pid)
	s.resident = float64(kib) / 1024
	return s, err
}

func mib(bytes int) float64 { return float64(bytes) / (1 << 20) }

// memory is what the memory of an Envoy's VMs came to, in MiB: with one worker, at its start, and after sessions.
type memory struct{ start, one, all float64 }

// measureMemory plays sessions, each to its end and once, on an Envoy of its own.
func (b *bench) measureMemory(ctx context.Context, v variant) error {
	if b.gateways.running[v] == nil {
		return nil
	}
	to, err := b.gateways.startEnvoy(v, 1)
	if err != nil {
		return err
	}
	defer to.stop()
	vms := func() float64 {
		m, failed := hosts.MemoryOf(to.pid)
		if failed != nil {
			err = failed
		}
		return mib(m.VMs)
	}
	all := memory{start: vms()}
	c := newClient(false)
	defer c.http.CloseIdleConnections()
	for i := range b.options.sessions {
		bodies := agents.New(b.options.family(), 1<<40+uint64(i)).Bodies(agents.Responses, model)
		for turn := 1; turn <= agents.Turns; turn++ {
			if err := c.send(ctx, to.url+agents.Responses.Path(), bodies.Turn(turn), true); err != nil {
				return err
			}
		}
		if i == 0 {
			all.one = vms()
		}
	}
	all.all = vms()
	b.memories[v] = all
	return err
}
