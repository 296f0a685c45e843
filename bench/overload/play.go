package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/stand"
	"github.com/harmonyedge/harmonyedge/bench/workload"
)

// request is what became of a request.
type request struct {
	client, group  string
	status         int // 0 without any
	first          time.Duration
	prompt, answer int
}

// result is what became of the workload in a row.
type result struct {
	requests      []request
	queried, hits int
	took          time.Duration
}

// player plays the workload.
type player struct {
	*bench
	row    *row
	url    string
	client *http.Client
	begun  time.Time

	mu       sync.Mutex
	requests []request
}

// play plays the workload in a row on new servers.
func (b *bench) play(ctx context.Context, r row) (result *result, err error) {
	o, err := b.stand(&r)
	if err != nil {
		return nil, err
	}
	s, err := stand.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 4000}
	defer transport.CloseIdleConnections()
	p := &player{bench: b, row: &r, url: s.URL, client: &http.Client{Transport: transport}, begun: time.Now()}
	work := b.work
	if r.alone {
		work = work.Without(workload.Noisy, workload.Burst)
	}
	err = work.Play(ctx, func(ctx context.Context, conversation, turn int) error {
		return p.send(ctx, work.Conversations[conversation], turn)
	})
	if err != nil {
		return nil, err
	}
	return p.result(s), nil
}

func (p *player) result(s *stand.Stand) *result {
	r := &result{requests: p.requests, took: time.Since(p.begun)}
	for _, one := range s.Servers {
		counts := one.Counts()
		r.queried, r.hits = r.queried+counts.Queries, r.hits+counts.Hits
	}
	return r
}

// send sends a request of a conversation. What is refused is not sent again, and the next one follows.
func (p *player) send(ctx context.Context, c *workload.Conversation, turn int) error {
	r := request{client: c.Client, group: c.Group, prompt: p.prompts[c.ID][turn], answer: c.Turns[turn].Answer}
	if err := p.ask(ctx, c, turn, &r); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	return nil
}

// ask sends a request, reads the whole answer, and notes what became of it.
func (p *player) ask(ctx context.Context, c *workload.Conversation, turn int, r *request) error {
	body := c.Body(model, turn)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("content-type", "application/json")
	for name, value := range p.row.headersOf(c) {
		request.Header.Set(name, value)
	}
	begun := time.Now()
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if r.status = response.StatusCode; r.status != http.StatusOK {
		_, err := io.Copy(io.Discard, response.Body)
		return err
	}
	lines := bufio.NewScanner(response.Body)
	done := false
	for lines.Scan() {
		if r.first == 0 {
			r.first = time.Since(begun)
		}
		done = done || lines.Text() == "data: [DONE]"
	}
	if lines.Err() != nil || !done { // a peer has ended it
		r.status = 0
	}
	return ctx.Err()
}

// firsts returns the sorted times to the first token of the answered requests of which is says yes.
func (r *result) firsts(is func(*request) bool) []float64 {
	var all []float64
	for i := range r.requests {
		if one := &r.requests[i]; one.status == http.StatusOK && is(one) {
			all = append(all, seconds(one.first))
		}
	}
	slices.Sort(all)
	return all
}
