package pools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/internal/apiserver"
	"github.com/harmonyedge/harmonyedge/controlplane/internal/endpointslices"
	"github.com/harmonyedge/harmonyedge/controlplane/internal/inferencepools"
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

// InferencePool is an InferencePool of Kubernetes. Each of its ready pods is a server at each of its ports. The servers
// use http.
type InferencePool struct {
	// Namespace is the InferencePool's namespace. "" is [Options.Namespace].
	Namespace, Name string
}

// origin is an object of Kubernetes that names servers: a Service, or an InferencePool.
type origin struct {
	kind            string
	namespace, name string
	port            string // of a Service
}

// The kinds of origins, as logs and reasons have them.
const (
	kindService       = "Service"
	kindInferencePool = "InferencePool"
)

// String returns the origin's name as logs and reasons have it.
func (o origin) String() string { return o.kind + " " + o.namespace + "/" + o.name }

// host is the name of all servers of the origin. An InferencePool has none in DNS.
func (o origin) host() string {
	if o.kind == kindInferencePool {
		return o.name + "." + o.namespace + ".inferencepool"
	}
	return o.name + "." + o.namespace + ".svc"
}

// follow calls update with each new state of the origin until ctx ends.
func (o origin) follow(ctx context.Context, c *apiserver.Client, retry time.Duration, update func(apiserver.State)) {
	if o.kind == kindInferencePool {
		inferencepools.Follow(ctx, c, inferencepools.Pool{Namespace: o.namespace, Name: o.name}, retry, update)
		return
	}
	s := endpointslices.Service{Namespace: o.namespace, Name: o.name, Port: o.port}
	endpointslices.Follow(ctx, c, s, retry, update)
}

// origins returns what names the pool's servers in Kubernetes, and whether these servers use https.
func (p *Pool) origins() iter.Seq2[origin, bool] {
	return func(yield func(origin, bool) bool) {
		s, i := &p.Service, &p.InferencePool
		if s.Name != "" && !yield(origin{kindService, s.Namespace, s.Name, s.Port}, s.TLS) {
			return
		}
		if i.Name != "" {
			yield(origin{kind: kindInferencePool, namespace: i.Namespace, name: i.Name}, false)
		}
	}
}

// followed is an origin that is followed.
type followed struct {
	end     context.CancelFunc
	state   apiserver.State
	problem string        // of the state, in words
	asked   chan struct{} // closed after the first answer or failure, or when the origin is no longer needed
}

func (s *followed) setAsked() {
	select {
	case <-s.asked:
	default:
		close(s.asked)
	}
}

// checkOrigins completes the Service and the InferencePool of a pool, and connects to the API server if they are the
// first ones. The caller holds w.filesMu.
func (w *Watcher) checkOrigins(p *Pool) error {
	if p.Service.Name == "" {
		p.Service = Service{}
	}
	if p.InferencePool.Name == "" {
		p.InferencePool = InferencePool{}
	}
	for _, one := range []struct {
		name, setting string
		namespace     *string
	}{
		{p.Service.Name, "service", &p.Service.Namespace},
		{p.InferencePool.Name, "inference_pool", &p.InferencePool.Namespace},
	} {
		if one.name == "" {
			continue
		}
		if *one.namespace == "" {
			*one.namespace = cmp.Or(w.namespace, apiserver.OwnNamespace())
		}
		if *one.namespace == "" {
			return errors.New("pool " + strconv.Quote(p.Name) + ": its " + one.setting + " has no namespace, and the control " +
				"plane is not in a pod whose own it could take; write " + one.setting + ".namespace")
		}
		if w.kubernetes != nil {
			continue
		}
		client, err := w.connect()
		if err != nil {
			return fmt.Errorf("pool %q has %s: %w", p.Name, map[string]string{"service": "a service",
				"inference_pool": "an inference_pool"}[one.setting], err)
		}
		w.kubernetes = client
	}
	return nil
}

// followOrigins makes w.origins exactly the origins of the pools. The caller holds w.mu and w.filesMu.
func (w *Watcher) followOrigins() {
	before := w.origins
	w.origins = make(map[origin]*followed, len(before))
	for _, p := range w.pools {
		for o := range p.origins() {
			if w.origins[o] != nil {
				continue
			}
			if f := before[o]; f != nil {
				w.origins[o] = f
				continue
			}
			ctx, end := context.WithCancel(w.ctx)
			f, client := &followed{end: end, asked: make(chan struct{})}, w.kubernetes
			w.origins[o] = f
			w.running.Go(func() {
				o.follow(ctx, client, w.serviceRetry, func(state apiserver.State) { w.updateOrigin(o, f, state) })
			})
		}
	}
	for o, f := range before {
		if w.origins[o] == nil {
			f.end()
			f.setAsked()
		}
	}
}

// originServers returns the pool's servers that Kubernetes names, each with its address. The caller holds w.mu.
func (w *Watcher) originServers(p *pool) iter.Seq2[config.Endpoint, netip.AddrPort] {
	return func(yield func(config.Endpoint, netip.AddrPort) bool) {
		for o, tls := range p.origins() {
			f := w.origins[o]
			if f == nil {
				continue
			}
			for _, at := range f.state.Addresses {
				if !yield(config.Endpoint{TLS: tls, Host: o.host(), Port: at.Port()}, at) {
					return
				}
			}
		}
	}
}

// originState returns the hosts of the pool's origins that have not been listed, and all their problems. The caller
// holds w.mu.
func (w *Watcher) originState(p *pool) (unlisted, problems []string) {
	for o := range p.origins() {
		f := w.origins[o]
		if f == nil {
			continue
		}
		if !f.state.Listed {
			unlisted = append(unlisted, o.host())
		}
		if f.problem != "" {
			problems = append(problems, o.String()+": "+f.problem)
		}
	}
	return unlisted, problems
}

// updateOrigin takes over what has become known of an origin. It logs problems that are new, and their end.
func (w *Watcher) updateOrigin(o origin, f *followed, state apiserver.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.origins[o] != f {
		return // no longer needed
	}
	defer f.setAsked()
	before := *f
	f.state, f.problem = state, originProblem(state)
	key, name, what := "service", o.namespace+"/"+o.name, "a Service"
	if o.kind == kindInferencePool {
		key, what = "inference_pool", "an InferencePool"
	}
	switch {
	case f.problem != "" && f.problem != before.problem:
		w.log.Warn(what+" cannot be followed, or not in full", key, name, "error", f.problem)
	case f.problem == "" && before.problem != "":
		w.log.Info(what+" is followed again", key, name, "endpoints", len(state.Addresses))
	}
	if state.Listed != before.state.Listed || f.problem != before.problem {
		notify(w.changed) // those of an earlier run no longer count, and a pool without servers may be down now
	}
	if !slices.Equal(state.Addresses, before.state.Addresses) {
		w.refresh()
	}
}

// originProblem returns what is wrong with an origin, in words that are always the same for one cause.
func originProblem(s apiserver.State) string {
	var problems []string
	if s.Err != nil {
		cause := ""
		var refusal *apiserver.Refusal
		switch {
		case errors.As(s.Err, &refusal), apiserver.TooMany(s.Err):
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
