package server

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/harmonyedge/harmonyedge/sight/page"
)

const (
	headerTimeout = 5 * time.Second
	closeTimeout  = 5 * time.Second
)

// serveHTTP serves the status, the metrics and the readiness check until ctx ends.
func (s *Server) serveHTTP(ctx context.Context) error {
	if s.options.HTTP == nil {
		return nil
	}
	// Viewers' streams end with ctx, because a shutdown waits for them.
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: headerTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	return serveUntil(ctx, server, s.options.HTTP)
}

// serveUntil serves a listener until ctx ends. Then requests have [closeTimeout] to end.
func serveUntil(ctx context.Context, server *http.Server, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if server.Shutdown(limited) != nil {
		_ = server.Close() // clients that are still reading have had their time
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		WriteStatus(w, s.Status())
	})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-s.ready:
			_, _ = w.Write([]byte("ready\n"))
		default:
			http.Error(w, "nothing is served yet: no configuration has been in force", http.StatusServiceUnavailable)
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	return page.Handler(page.Source{
		About: s.about, Status: func() any { return s.Status() }, History: s.options.History,
		Gateway: s.options.Gateway, TapKey: s.options.TapKey, Names: s.options.PageNames, Fallback: mux,
	})
}

// WriteStatus answers with a [Status], for people to read too.
func WriteStatus(w http.ResponseWriter, status any) {
	w.Header().Set("content-type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(status) // fails only if the client has disconnected
}

// about describes the gateways of this control plane.
func (s *Server) about() page.About {
	return page.About{Host: "controlplane", Version: s.options.Version, Models: ModelsOf(s.Status().Pools)}
}
