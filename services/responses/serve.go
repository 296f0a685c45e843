package responses

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	// idleTimeout is longer than Envoy's for connections to servers, so that Envoy never sends a request on a connection
	// that is being closed.
	idleTimeout = 2 * time.Hour
)

// Serve runs the service, and serves its handler, until ctx ends or [Service.Stop] is called. Responses that run then
// have the time drain to end, unless [Service.Cut] is called. It returns an error if the store cannot be used as it is,
// or if nothing can be served.
func (s *Service) Serve(ctx context.Context, l net.Listener, drain time.Duration) error {
	defer s.toolServers.Close() // programs that it has started end with it
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		BaseContext: func(net.Listener) context.Context { return working }}
	served, ran := make(chan error, 1), make(chan error, 1)
	s.serving.Add(1)
	ended := sync.OnceFunc(s.serving.Done)
	defer ended()
	go func() { served <- server.Serve(l) }()
	go func() { ran <- s.Run(working) }()
	select {
	case <-ctx.Done():
	case <-s.stopping:
	case err := <-served:
		end()
		ended()
		return errors.Join(err, <-ran)
	case err := <-ran:
		return errors.Join(err, server.Close())
	}
	s.Stop()
	if n := s.inFlight.InUse() + int64(s.sockets.Open()) + s.slots.taken.Load(); n > 0 {
		s.log.Info("draining: no other request is taken, and those that run may end", "running", n, "at_most", drain)
	}
	limited, cancel := context.WithTimeout(working, drain)
	defer cancel()
	go func() {
		select {
		case <-s.cutting:
			cancel()
		case <-limited.Done():
		}
	}()
	_ = server.Shutdown(limited) // it knows nothing of connections that were upgraded
	drained := s.sockets.Drain()
	select {
	case <-drained:
	case <-limited.Done():
	}
	if limited.Err() != nil { // the time of those that run is over
		_ = server.Close()
		end()
	}
	<-drained
	ended()
	select {
	case err := <-ran:
		return err
	case <-limited.Done():
		end()
		return <-ran
	}
}
