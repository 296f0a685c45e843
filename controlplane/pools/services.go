package pools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/controlplane/internal/endpointslices"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Service is a Service of Kubernetes, whose ready endpoints are servers.
type Service struct {
	// Namespace is the Service's namespace. "" is [Options.Namespace].
	Namespace, Name string
	// Port is the name or the number of the servers' port in the EndpointSlices. "" is their only port.
	Port string
	// TLS reports whether the servers use https, with certificates for NAME.NAMESPACE.svc.
	TLS bool
}

// String returns the Service's name as logs and reasons have it.
func (s Service) String() string { return "Service " + s.Namespace + "/" + s.Name }

// host is the name of all servers of the Service.
func (s Service) host() string { return s.Name + "." + s.Namespace + ".svc" }

func (s Service) endpoint(at netip.AddrPort) config.Endpoint {
	return config.Endpoint{TLS: s.TLS, Host: s.host(), Port: at.Port()}
}

func (s Service) key() endpointslices.Service {
	return endpointslices.Service{Namespace: s.Namespace, Name: s.Name, Port: s.Port}
}

// service is a Service that is followed.
type service struct {
	end     context.CancelFunc
	state   endpointslices.State
	problem string        // of the state, in words
	asked   chan struct{} // closed after the first answer or failure, or when the Service is no longer needed
}

func (s *service) setAsked() {
	select {
	case <-s.asked:
	default:
		close(s.asked)
	}
}

// checkService completes the Service of a pool, and connects to the API server if it is the first one. The caller holds
// w.filesMu.
func (w *Watcher) checkService(p *Pool) error {
	if p.Service.Name == "" {
		p.Service = Service{}
		return nil
	}
	if p.Service.Namespace == "" {
		p.Service.Namespace = cmp.Or(w.namespace, endpointslices.OwnNamespace())
	}
	if p.Service.Namespace == "" {
		return errors.New("pool " + strconv.Quote(p.Name) + ": its service has no namespace, and the control plane is not " +
			"in a pod whose own it could take; write service.namespace")
	}
	if w.kubernetes == nil {
		client, err := w.connect()
		if err != nil {
			return fmt.Errorf("pool %q has a service: %w", p.Name, err)
		}
		w.kubernetes = client
	}
	return nil
}

// followServices makes w.services exactly the Services of the pools. The caller holds w.mu and w.filesMu.
func (w *Watcher) followServices() {
	before := w.services
	w.services = make(map[endpointslices.Service]*service, len(before))
	for _, p := range w.pools {
		key := p.Service.key()
		if key.Name == "" || w.services[key] != nil {
			continue
		}
		if s := before[key]; s != nil {
			w.services[key] = s
			continue
		}
		ctx, end := context.WithCancel(w.ctx)
		s, client := &service{end: end, asked: make(chan struct{})}, w.kubernetes
		w.services[key] = s
		w.running.Go(func() {
			client.Follow(ctx, key, w.serviceRetry, func(state endpointslices.State) { w.updateService(key, s, state) })
		})
	}
	for key, s := range before {
		if w.services[key] == nil {
			s.end()
			s.setAsked()
		}
	}
}

// serviceAddresses returns the addresses of the pool's Service. The caller holds w.mu.
func (w *Watcher) serviceAddresses(p *pool) []netip.AddrPort {
	if s := w.services[p.Service.key()]; s != nil {
		return s.state.Addresses
	}
	return nil
}

// updateService takes over what has become known of a Service. It logs problems that are new, and their end.
func (w *Watcher) updateService(key endpointslices.Service, s *service, state endpointslices.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.services[key] != s {
		return // no longer needed
	}
	defer s.setAsked()
	before := *s
	s.state, s.problem = state, serviceProblem(state)
	name := key.Namespace + "/" + key.Name
	switch {
	case s.problem != "" && s.problem != before.problem:
		w.log.Warn("a Service cannot be followed, or not in full", "service", name, "error", s.problem)
	case s.problem == "" && before.problem != "":
		w.log.Info("a Service is followed again", "service", name, "endpoints", len(state.Addresses))
	}
	if state.Listed != before.state.Listed {
		notify(w.changed) // those of an earlier run no longer count
	}
	if !slices.Equal(state.Addresses, before.state.Addresses) {
		w.refresh()
	}
}

// serviceProblem returns what is wrong with a Service, in words that are always the same for one cause.
func serviceProblem(s endpointslices.State) string {
	var problems []string
	if s.Err != nil {
		cause := ""
		var refusal *endpointslices.Refusal
		switch {
		case errors.As(s.Err, &refusal), endpointslices.TooMany(s.Err):
			cause = s.Err.Error()
		default:
			cause = "the API server: " + Cause(s.Err, "its answer cannot be read")
		}
		if kept := len(s.Addresses); kept > 0 {
			cause += fmt.Sprintf("; known servers that stay in use: %d", kept)
		}
		problems = append(problems, cause)
	}
	if s.Problem != "" {
		problems = append(problems, s.Problem)
	}
	return strings.Join(problems, "; ")
}
