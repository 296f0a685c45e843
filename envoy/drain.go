package envoy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Drain has Envoy take no new clients, while everything that runs goes on.
//
// Of the ways that the admin interface has, as they were tried on 1.37 and 1.40, none cuts a stream, and one does all of this:
// /healthcheck/fail makes /ready answer 503 and has connections closed behind their next response (connection: close, or
// GOAWAY), and /drain_listeners closes the listening sockets at once. With ?graceful they stay open for --drain-time-s,
// 10 minutes by default, and /ready answers 200 all that time.
func (p *Process) Drain(ctx context.Context) error {
	for _, path := range []string{"/healthcheck/fail", "/drain_listeners"} {
		if _, err := p.ask(ctx, http.MethodPost, path); err != nil {
			return err
		}
	}
	return nil
}

// activity are the gauges of the connection managers that tell whether a client still waits for something.
const activity = `^http\..*\.downstream_(rq_active|cx_tx_bytes_buffered)$`

// Streams is how many requests of clients run. An answer that is complete counts for as long as a part of it has not been
// written to its client.
func (p *Process) Streams(ctx context.Context) (int, error) {
	body, err := p.Get(ctx, "/stats?format=json&filter="+url.QueryEscape(activity))
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
			unwritten = 1 // the bytes are told, not how many answers they belong to
		}
	}
	// One is the request for this page, which the admin interface counts as http.admin.
	return max(running-1, unwritten), nil
}
