package ads

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/peer"
)

// stream is one Envoy's connection. To the library, which speaks the protocol, it is the cache that has the answers.
// Everything in it is guarded by the server's mutex.
type stream struct {
	server    *Server
	address   string
	connected time.Time
	node      *corev3.Node // nil until the first request
	types     map[resource.Type]*subscription
	strange   map[resource.Type]bool // types asked for that are not served
	beyond    bool                   // there are as many others as there may be
}

func (s *Server) connect(ctx context.Context) *stream {
	st := &stream{
		server: s, connected: time.Now(), types: map[resource.Type]*subscription{}, strange: map[resource.Type]bool{},
	}
	if p, ok := peer.FromContext(ctx); ok {
		st.address = p.Addr.String()
		if p.Addr.Network() == "unix" {
			st.address = "unix" // clients of Unix sockets have no names
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.beyond = len(s.streams) >= s.most; !st.beyond {
		s.streams[st] = struct{}{}
	}
	return st
}

func (s *Server) disconnect(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
	if st.node != nil {
		st.log().Info("an Envoy has gone")
		s.tell()
	}
}

func (st *stream) log() *slog.Logger {
	return st.server.log.With("envoy", st.node.GetId(), "address", st.address)
}

// CreateWatch implements cache.ConfigWatcher for a protocol that is not served.
func (st *stream) CreateWatch(*cache.Request, cache.Subscription, chan cache.Response) (func(), error) {
	return nil, errors.New("ads: " + useDelta)
}

// CreateDeltaWatch implements cache.ConfigWatcher. The library calls it with each request of Envoy's, after it has sent
// every response that it was given, so the channel never fills: there is one response for each watch at most.
func (st *stream) CreateDeltaWatch(r *cache.DeltaRequest, sub cache.Subscription, responses chan cache.DeltaResponse) (func(), error) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	if st.node == nil {
		st.node = r.GetNode()
		st.log().Info("an Envoy has come", "version", version(st.node))
	}
	t := r.GetTypeUrl()
	if shortNames[t] == "" {
		if !st.strange[t] {
			if len(st.strange) == maxStrange {
				return nil, tooMuch("this stream asks for more than %d types that are not served here", maxStrange)
			}
			st.strange[t] = true
			st.log().Warn("an Envoy asks for what is not served here", "type", printable(t, maxName))
		}
		if len(sub.SubscribedResources()) > maxNames {
			return nil, tooMuch("this stream names more than %d resources of a type that is not served here", maxNames)
		}
		return nil, nil
	}
	s := st.types[t]
	if s == nil {
		s = newSubscription(t, r.GetInitialResourceVersions())
		st.types[t] = s
		s.want(sub, nil)
		s.greet = s.wildcard
	} else {
		s.want(sub, slices.Concat(r.GetResourceNamesSubscribe(), r.GetResourceNamesUnsubscribe()))
	}
	if f := s.answered(r.GetResponseNonce()); f != nil {
		st.hear(s, f, r)
	}
	if err := st.within(s); err != nil {
		return nil, err
	}
	if c := st.server.snapshot[t]; c != nil {
		s.reach(c)
	}
	w := &watch{request: r, responses: responses}
	s.watch = w
	st.push()
	st.server.tell()
	if s.watch != w {
		return nil, nil
	}
	return func() { st.close(s, w) }, nil
}

// close ends a watch: after it nothing is sent to its channel, which the library closes.
func (st *stream) close(s *subscription, w *watch) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	if s.watch == w {
		s.watch = nil
	}
}

// hear takes what Envoy says to a response.
func (st *stream) hear(s *subscription, f *flight, r *cache.DeltaRequest) {
	short := shortNames[s.typ]
	count := st.server.counts[short]
	if r.GetErrorDetail() == nil {
		count.Accepted++
		s.accept(f, time.Now())
	} else {
		count.Refused++
		words := printable(r.GetErrorDetail().GetMessage(), maxWords)
		if s.typ == resource.SecretType {
			words = "(withheld: it may quote the secret)"
		}
		s.refuse(f, words)
		log := st.log().With("type", short, "version", f.of.version, "error", words)
		if len(f.versions) == 1 {
			for name := range f.versions {
				log.Warn("an Envoy refuses a resource and keeps the one it has", "resource", name)
			}
		} else {
			log.Warn("an Envoy refuses a response: its resources are sent again, one by one", "resources", len(f.versions))
		}
	}
	st.server.counts[short] = count
}

// push sends what there is to send, in the order of types.
func (st *stream) push() {
	if st.server.snapshot == nil {
		return
	}
	for _, t := range order {
		s := st.types[t]
		if s == nil {
			continue
		}
		c := st.server.snapshot[t]
		s.forget(c)
		if s.watch == nil {
			continue
		}
		f := s.next(c, st.hold(t))
		if f == nil {
			continue
		}
		if t == resource.ExtensionConfigType && st.server.vary != nil {
			vary(f.response.GetResources(), s.variant, st.server.vary)
		}
		if t == resource.ClusterType {
			st.remind(c, f)
		}
		// The library keeps its own account of what was sent in the map that it is given; ours is the one that counts.
		s.watch.responses <- &cache.DeltaPassthroughResponse{
			DeltaRequest: s.watch.request, DeltaDiscoveryResponse: f.response, NextVersionMap: map[string]string{},
		}
		s.watch = nil
		count := st.server.counts[shortNames[t]]
		count.Sent++
		st.server.counts[shortNames[t]] = count
	}
}

// hold says what of a type has to wait, so that nothing in force ever refers to a cluster that is not there: what refers
// to clusters changes when Envoy has answered the clusters, which it does when they are warm, and clusters go when what
// referred to them is gone. What Envoy does not have yet never waits: its start could hang on it.
func (st *stream) hold(t resource.Type) holds {
	switch t {
	case resource.ListenerType, resource.RouteType, resource.ExtensionConfigType:
		clusters := st.types[resource.ClusterType]
		return holds{updates: clusters != nil && len(clusters.flights) > 0}
	case resource.ClusterType:
		for _, t := range []resource.Type{resource.ListenerType, resource.RouteType, resource.ExtensionConfigType} {
			if s := st.types[t]; s != nil && !s.holds(st.server.snapshot[t]) {
				return holds{removals: true}
			}
		}
	}
	return holds{}
}

// remind has the endpoints of clusters that are on their way sent again: Envoy makes such a cluster anew and waits for
// its endpoints, 15 seconds by default, without asking for them.
func (st *stream) remind(c *collection, f *flight) {
	s := st.types[resource.EndpointType]
	if s == nil {
		return
	}
	for name := range f.versions {
		if e, ok := c.endpoints[name]; ok {
			if _, sent := s.sent[e]; sent {
				s.sent[e] = unknown
			}
		}
	}
}
