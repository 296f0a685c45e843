package wake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// The bounds of a call: how often it is tried, how long each time, and how long the pauses are at first and at most.
const (
	attempts    = 8
	timeout     = 10 * time.Second
	firstPause  = time.Second
	longPause   = 30 * time.Second
	maxResponse = 64 << 10
)

// Call is a call for a server.
type Call struct {
	// URL gets a POST. Authorization is the value of its header of that name, or empty.
	URL, Authorization string
	// Pool needs a server, for Requests requests that wait, which cost Tokens tokens.
	Pool     string
	Requests int
	Tokens   int64
}

// Caller makes calls. [New] makes one.
type Caller struct {
	client *http.Client
	pause  time.Duration
	log    *slog.Logger

	mu    sync.Mutex
	under map[string]bool // the pools for which a call is under way
	wait  sync.WaitGroup
}

// New returns a caller. It goes through no proxy, and follows no redirect.
func New(log *slog.Logger) *Caller {
	return &Caller{log: log, pause: firstPause, under: map[string]bool{}, client: &http.Client{
		Timeout: timeout, Transport: &http.Transport{MaxConnsPerHost: 8, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Go makes a call, unless one for the pool is under way. It does not block. A call that fails is made again, with
// longer and longer pauses, until ctx ends.
func (c *Caller) Go(ctx context.Context, call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under[call.Pool] || ctx.Err() != nil {
		return
	}
	c.under[call.Pool] = true
	c.wait.Add(1)
	go func() {
		defer c.wait.Done()
		c.call(ctx, &call)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.under, call.Pool)
	}()
}

// Wait waits for the calls under way to end. Their context should have ended.
func (c *Caller) Wait() { c.wait.Wait() }

func (c *Caller) call(ctx context.Context, call *Call) {
	pause := c.pause
	for n := 1; ; n++ {
		err := c.ask(ctx, call)
		switch {
		case err == nil:
			c.log.Info("a server was asked for", "pool", call.Pool, "waiting", call.Requests)
			return
		case ctx.Err() != nil:
			return
		case n == attempts:
			c.log.Error("no server could be asked for; see pools[].queue.wake_url", "pool", call.Pool, "error", err)
			return
		}
		c.log.Warn("a server could not be asked for", "pool", call.Pool, "error", err, "again_in", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, longPause)
	}
}

// ask asks once.
func (c *Caller) ask(ctx context.Context, call *Call) error {
	body, err := json.Marshal(map[string]any{"pool": call.Pool, "requests": call.Requests, "tokens": call.Tokens})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, call.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if call.Authorization != "" {
		r.Header.Set("Authorization", call.Authorization)
	}
	a, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, maxResponse)) // so that the connection can be used again
	if a.StatusCode < 200 || a.StatusCode > 299 {
		return fmt.Errorf("the answer is %s", a.Status)
	}
	return nil
}
