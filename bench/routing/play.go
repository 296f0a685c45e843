package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/sim"
)

// result is what a policy came to under a workload.
type result struct {
	queried, hits  int
	preemptions    int
	ttft           []time.Duration // sorted
	occupied, work []float64       // of each server: requests in the mean, and seconds of steps
	moments        []float64       // max over mean of the requests at the servers, at each sample
	order          []place         // in which the requests were sent
}

// place names a request.
type place struct{ conversation, turn int }

// player plays a workload.
type player struct {
	*workload.Workload
	url    string
	client *http.Client

	mu     sync.Mutex
	result result
}

// sampleEvery is how often the servers' load is looked at.
const sampleEvery = 100 * time.Millisecond

// play plays a workload with a policy on new servers.
func (b *bench) play(ctx context.Context, w *workload.Workload, p policy) (r result, err error) {
	g, err := b.start(ctx, p)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	defer transport.CloseIdleConnections()
	one := &player{Workload: w, url: g.URL, client: &http.Client{Transport: transport}}
	ended := make(chan struct{})
	var played error
	go func() {
		defer close(ended)
		played = w.Play(ctx, one.send)
	}()
	one.sample(g.Servers, ended)
	if played != nil {
		return r, played
	}
	r = one.result
	for _, s := range g.Servers {
		counts := s.Counts()
		r.queried, r.hits = r.queried+counts.Queries, r.hits+counts.Hits
		r.preemptions += counts.Preemptions
		r.work = append(r.work, counts.Worked.Seconds())
	}
	slices.Sort(r.ttft)
	return r, nil
}

// send sends a request of a conversation.
func (p *player) send(ctx context.Context, conversation, turn int) error {
	c := p.Conversations[conversation]
	body := c.Body(model, turn)
	p.mu.Lock()
	p.result.order = append(p.result.order, place{conversation, turn})
	p.mu.Unlock()
	took, err := p.ask(ctx, c.ID, body)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result.ttft = append(p.result.ttft, took)
	return nil
}

// ask sends a request, reads the whole answer, and returns how long its first token took.
func (p *player) ask(ctx context.Context, conversation string, body []byte) (first time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set(conversationHeader, conversation)
	begun := time.Now()
	response, err := p.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	done := false
	for lines.Scan() {
		if first == 0 {
			first = time.Since(begun)
		}
		done = done || lines.Text() == "data: [DONE]"
		if response.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("status %d: %s", response.StatusCode, lines.Text())
		}
	}
	if lines.Err() == nil && !done {
		return 0, errors.New("the answer has no end")
	}
	return first, lines.Err()
}

// sample looks at the servers' load until all conversations have ended.
func (p *player) sample(servers []*sim.Server, ended <-chan struct{}) {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	r := &p.result
	r.occupied = make([]float64, len(servers))
	for samples := 1.0; ; samples++ {
		select {
		case <-ended:
			return
		case <-ticker.C:
		}
		total, most := 0, 0
		for i, s := range servers {
			load := s.Load()
			n := load.Running + load.Waiting
			total, most = total+n, max(most, n)
			r.occupied[i] += (float64(n) - r.occupied[i]) / samples
		}
		if total >= len(servers) { // with fewer, some server has more than the mean by necessity
			r.moments = append(r.moments, float64(most)*float64(len(servers))/float64(total))
		}
	}
}
