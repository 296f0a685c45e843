package envoy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Drain makes Envoy accept no new clients. Running requests continue. See [AdminInterface.Drain].
func (p *Process) Drain(ctx context.Context) error { return p.admin.Drain(ctx, 0) }

// Streams returns how many requests of clients are running. See [AdminInterface.Streams].
func (p *Process) Streams(ctx context.Context) (int, error) { return p.admin.Streams(ctx) }

// Drain makes Envoy accept no new clients. Running requests continue.
//
// It posts /healthcheck/fail, waits for stay, and posts /drain_listeners. The first makes /ready answer 503, and closes
// each connection after its next response (connection: close, or GOAWAY). The second closes the listening sockets at
// once. During stay, load balancers find out that Envoy is not ready. With ?graceful the sockets would stay open for
// --drain-time-s, 10 minutes by default, and /ready would answer 200 all that time. These two cut no stream on 1.37 and
// 1.40 (RATIONALE.md#65).
func (a AdminInterface) Drain(ctx context.Context, stay time.Duration) error {
	if _, err := a.request(ctx, http.MethodPost, "/healthcheck/fail"); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(stay):
	}
	_, err := a.request(ctx, http.MethodPost, "/drain_listeners")
	return err
}

// activityStats matches the gauges of connection managers that show whether a client still waits for something.
const activityStats = `^http\..*\.downstream_(rq_active|cx_tx_bytes_buffered)$`

// Streams returns how many requests of clients are running. A complete answer counts until all of it has been written
// to its client.
func (a AdminInterface) Streams(ctx context.Context) (int, error) {
	body, err := a.Get(ctx, "/stats?format=json&filter="+url.QueryEscape(activityStats))
	if err != nil {
		return 0, err
	}
	return runningStreams(body)
}

func runningStreams(stats []byte) (int, error) {
	var page struct {
		Stats []struct {
			Name  string `json:"name"`
			Value int    `json:"value"`
		} `json:"stats"`
	}
	if err := json.Unmarshal(stats, &page); err != nil {
		return 0, fmt.Errorf("Envoy's admin interface: /stats: %w", err)
	}
	running, unwritten := 0, 0
	for _, s := range page.Stats {
		switch {
		case strings.HasSuffix(s.Name, ".downstream_rq_active"):
			running += s.Value
		case s.Name != "http.admin.downstream_cx_tx_bytes_buffered" && s.Value > 0:
			unwritten = 1 // Envoy counts the bytes, not the answers that they belong to
		}
	}
	// One of them is the request for this page, which Envoy counts as http.admin.
	return max(running-1, unwritten), nil
}
