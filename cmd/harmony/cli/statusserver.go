package cli

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ListenTwice opens the listeners of the flags --listen, for Envoys, and --status.
func ListenTwice(listen, status string, tls *ServerTLS, log *slog.Logger) (
	forEnvoys, forStatus net.Listener, err error) {
	l, err := Listen(listen, "--listen")
	if err != nil {
		return nil, nil, err
	}
	if l, err = tls.Wrap(l, log); err != nil {
		return nil, nil, Usage(err)
	}
	forStatus, err = Listen(status, "--status")
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, forStatus, nil
}

// StatusMux returns a mux with the metrics of a part of the program, of the Go runtime and of the process.
func StatusMux(c prometheus.Collector) *http.ServeMux {
	registry := prometheus.NewRegistry()
	registry.MustRegister(c, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

// ServeStatus serves the status of a program until the server is closed. The program goes on without it.
func ServeStatus(l net.Listener, h http.Handler, log *slog.Logger) *http.Server {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the status is not served", "error", err)
		}
	}()
	return s
}
