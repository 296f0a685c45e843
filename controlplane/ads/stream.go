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

// stream is one ADS stream of an Envoy. For the library, which implements the protocol, it is the cache that returns
// the responses. The server's mutex guards all of its fields.
type stream struct {
	server       *Server
	address      string
	from         *peerAddress // of the connection
	identity     string       // of the peer, by peerAddress.identity
	connected    time.Time
	node         *corev3.Node // nil until the first request
	types        map[resource.Type]*subscription
	unknownTypes map[resource.Type]bool // types that were asked for and are not served
	overLimit    bool                   // maxEnvoys were connected already
	chosen       bool                   // the Envoy gets the other resources of Server.split
	flight       flight
	// unreferenced is since when nothing refers to the clusters that are not in the collection unreferencedIn. It is zero
	// if there are no such clusters, or while something refers to them.
	unreferenced   time.Time
	unreferencedIn *collection
	end            func(reason error) // ends the stream; set before the first request is read
}

func (s *Server) connect(ctx context.Context) *stream {
	st := &stream{
		server: s, connected: time.Now(), types: map[resource.Type]*subscription{}, unknownTypes: map[resource.Type]bool{},
	}
	if p, ok := peer.FromContext(ctx); ok {
		st.address = p.Addr.String()
		if p.Addr.Network() == "unix" {
			st.address = "unix" // the client of a Unix socket has no address
		}
	}
	if st.from = addressOf(ctx); st.from != nil {
		st.identity = st.from.identity()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.overLimit = len(s.streams) >= s.maxEnvoys; !st.overLimit {
		s.streams[st] = struct{}{}
	}
	return st
}

func (s *Server) disconnect(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
	st.leave()
	if st.node != nil {
		st.log().Info("an Envoy has disconnected")
		s.notify()
	}
}

func (st *stream) log() *slog.Logger {
	return st.server.log.With("envoy", st.node.GetId(), "address", st.address)
}

// CreateWatch returns an error: it belongs to the state-of-the-world protocol, which is not served. It implements
// [cache.ConfigWatcher].
func (st *stream) CreateWatch(*cache.Request, cache.Subscription, chan cache.Response) (func(), error) {
	return nil, errors.New("ads: " + useDelta)
}

// CreateDeltaWatch takes in one request of Envoy's and opens a watch for the next response. It implements
// [cache.ConfigWatcher].
//
// The library calls it for each request, and only after it has sent every response that it was given. There is at most
// one response for each watch, so writing to responses never blocks.
func (st *stream) CreateDeltaWatch(r *cache.DeltaRequest, sub cache.Subscription, responses chan cache.DeltaResponse) (
	func(), error) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	if st.node == nil {
		st.node = r.GetNode()
		st.choose()
		st.log().Info("an Envoy has connected", "version", version(st.node))
	}
	t := r.GetTypeUrl()
	if shortNames[t] == "" {
		if !st.unknownTypes[t] {
			if len(st.unknownTypes) == maxUnknownTypes {
				return nil, limitError("this stream asks for more than %d types that are not served here", maxUnknownTypes)
			}
			st.unknownTypes[t] = true
			st.log().Warn("an Envoy asks for a type that is not served", "type", printable(t, maxName))
		}
		if len(sub.SubscribedResources()) > maxNames {
			return nil, limitError("this stream names more than %d resources of a type that is not served here", maxNames)
		}
		return nil, nil
	}
	s := st.types[t]
	if s == nil {
		s = newSubscription(t, r.GetInitialResourceVersions())
		st.types[t] = s
		s.subscribe(sub, nil)
		s.firstAnswerDue = s.wildcard
	} else {
		s.subscribe(sub, slices.Concat(r.GetResourceNamesSubscribe(), r.GetResourceNamesUnsubscribe()))
	}
	if f := s.takeAnswered(r.GetResponseNonce()); f != nil {
		st.recordAnswer(s, f, r)
	}
	if err := st.checkLimits(s); err != nil {
		return nil, err
	}
	if c := st.collection(t); c != nil {
		s.recordVersion(c)
	}
	w := &watch{request: r, responses: responses}
	s.watch = w
	st.push()
	st.server.notify()
	if s.watch != w {
		return nil, nil
	}
	return func() { st.close(s, w) }, nil
}

// close ends a watch. After it nothing is sent to the watch's channel, because the library closes the channel.
func (st *stream) close(s *subscription, w *watch) {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	if s.watch == w {
		s.watch = nil
	}
}

// recordAnswer records that Envoy has accepted or refused a response.
func (st *stream) recordAnswer(s *subscription, f *response, r *cache.DeltaRequest) {
	short := shortNames[s.typ]
	answer := Answer{Envoy: st.node.GetId(), Type: short, Version: f.collection.version, Resources: len(f.versions),
		Sent: f.sent}
	count := st.server.counts[short]
	if r.GetErrorDetail() == nil {
		count.Accepted++
		s.accept(f, time.Now())
	} else {
		count.Refused++
		text := printable(r.GetErrorDetail().GetMessage(), maxErrorText)
		if s.typ == resource.SecretType {
			text = "(withheld: it may quote the secret)"
		}
		s.refuse(f, text)
		answer.Error = text
		log := st.log().With("type", short, "version", f.collection.version, "error", text)
		if len(f.versions) == 1 {
			for name := range f.versions {
				log.Warn("an Envoy refuses a resource and keeps the one it has", "resource", name)
			}
		} else {
			log.Warn("an Envoy refuses a response: its resources are sent again, one by one", "resources", len(f.versions))
		}
	}
	st.server.counts[short] = count
	if st.server.answered != nil && (!f.weights || answer.Error != "") {
		st.server.answered(answer)
	}
	if s.typ == resource.ExtensionConfigType && len(s.unanswered) == 0 {
		st.landed()
	}
}

// push sends every response that is due and that has an open watch, in the order of types.
func (st *stream) push() {
	if st.server.snapshot == nil {
		return
	}
	for _, t := range order {
		s := st.types[t]
		if s == nil {
			continue
		}
		c := st.collection(t)
		s.dropRefusals(c)
		if s.watch == nil {
			continue
		}
		wait := st.deferred(t)
		if len(s.pending(c, wait)) > 0 && st.mustWait(t) {
			continue
		}
		f := s.next(c, wait)
		if f == nil {
			continue
		}
		if t == resource.ExtensionConfigType && st.server.vary != nil {
			vary(f.response.GetResources(), s.variant, st.server.vary)
		}
		if t == resource.ClusterType {
			st.resendEndpoints(c, f)
		}
		// The library records the versions that were sent in NextVersionMap. It is not read here: s.sent and s.accepted
		// count.
		f.sent = time.Now()
		s.watch.responses <- &cache.DeltaPassthroughResponse{
			DeltaRequest: s.watch.request, DeltaDiscoveryResponse: f.response, NextVersionMap: map[string]string{},
		}
		s.watch = nil
		count := st.server.counts[shortNames[t]]
		count.Sent++
		st.server.counts[shortNames[t]] = count
	}
}

// deferred returns which changes of a type have to wait, so that nothing in force refers to a cluster that does not
// exist:
//
//   - Updates of types that refer to clusters wait until Envoy has answered the clusters. It answers when they are
//     warm.
//   - Removals of clusters wait until nothing in force refers to them, and then for [Options].HoldRemovals: when Envoy
//     accepts a change, its workers still choose clusters by what was before.
//
// A resource that Envoy does not have yet never waits, because Envoy's start may depend on it.
func (st *stream) deferred(t resource.Type) deferrals {
	switch t {
	case resource.ListenerType, resource.RouteType, resource.ExtensionConfigType:
		clusters := st.types[resource.ClusterType]
		return deferrals{updates: clusters != nil && len(clusters.unanswered) > 0}
	case resource.ClusterType:
		for _, t := range []resource.Type{resource.ListenerType, resource.RouteType, resource.ExtensionConfigType} {
			if s := st.types[t]; s != nil && !s.hasAll(st.collection(t)) {
				st.unreferenced = time.Time{}
				return deferrals{removals: true}
			}
		}
		return deferrals{removals: st.holdsRemovals()}
	}
	return deferrals{}
}

// holdsRemovals reports whether clusters to which nothing refers any more are to stay for now. When their time is over,
// it pushes.
func (st *stream) holdsRemovals() bool {
	s, c, hold := st.types[resource.ClusterType], st.collection(resource.ClusterType), st.server.holdRemovals
	if s.holds = s.wildcard && hold > 0 && s.hasRemovals(c); !s.holds {
		st.unreferenced = time.Time{}
		return false
	}
	if st.unreferenced.IsZero() || st.unreferencedIn != c {
		st.unreferenced, st.unreferencedIn = time.Now(), c
		time.AfterFunc(hold, func() {
			st.server.mu.Lock()
			defer st.server.mu.Unlock()
			if _, connected := st.server.streams[st]; connected {
				st.push()
			}
		})
	}
	s.holds = time.Since(st.unreferenced) < hold
	return s.holds
}

// resendEndpoints marks the endpoints of the clusters in f to be sent again. Envoy builds a changed cluster anew and
// waits for its endpoints, 15 seconds by default, without asking for them.
func (st *stream) resendEndpoints(c *collection, f *response) {
	s := st.types[resource.EndpointType]
	if s == nil {
		return
	}
	for name := range f.versions {
		if e, ok := c.endpoints[name]; ok {
			if _, sent := s.sent[e]; sent {
				s.sent[e] = unknownVersion
			}
		}
	}
}
