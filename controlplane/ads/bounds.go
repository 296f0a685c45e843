package ads

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Whoever reaches the port can speak to it, so everything that a peer may have kept here is bounded. An Envoy is far from
// all of these.
const (
	// DefaultMaxEnvoys is how many Envoys may be connected at once where Options does not say.
	DefaultMaxEnvoys = 2000
	// maxRequest bounds one request, in bytes: an Envoy that comes back names all that it holds, in 100 bytes each.
	maxRequest = 4 << 20
	// maxStreams bounds the streams of a connection, of which an Envoy uses two: resources, and which servers it reaches.
	maxStreams = 4
	// maxHeaders bounds the headers of a stream, in bytes.
	maxHeaders = 16 << 10
	// maxID bounds a node's id and cluster, in bytes.
	maxID = 512
	// maxName bounds the name of a resource and of a type, and a version, in bytes.
	maxName = 1 << 10
	// maxNames bounds the resources that a stream names, of all types together, in one request or in many.
	maxNames = 16 << 10
	// maxFlights bounds the responses of one type that a peer leaves unanswered, maxAfloat the resources in them.
	maxFlights = 256
	maxAfloat  = 4 * maxNames
	// maxStrange bounds the types asked for that are not served.
	maxStrange = 32
	// maxWords bounds what is kept of Envoy's words, in bytes: they quote what it was sent. maxVersion bounds its version.
	maxWords   = 1 << 10
	maxVersion = 64
	// firstRequest is how long a stream may say nothing after it has begun.
	firstRequest = 30 * time.Second
	// tellAgain is how long refusals are told of once only.
	tellAgain = time.Second
)

// tooMuch refuses a peer. The text says what to change, and quotes nothing of the peer's.
func tooMuch(format string, args ...any) error {
	return status.Error(codes.InvalidArgument, "ads: "+fmt.Sprintf(format, args...))
}

// checkRequest holds one request to its bounds, and takes out what nobody needs of it: an Envoy's node lists all of its
// extensions, which would be kept for as long as it is connected.
func checkRequest(r *discovery.DeltaDiscoveryRequest) error {
	if n := r.GetNode(); n != nil {
		for what, value := range map[string]string{"id": n.GetId(), "cluster": n.GetCluster()} {
			if len(value) > maxID {
				return tooMuch("the node's %s is %d bytes long, and may have %d: shorten node.%s in the bootstrap", what, len(value), maxID, what)
			}
		}
		r.Node = &corev3.Node{
			Id: printable(n.GetId(), maxID), Cluster: printable(n.GetCluster(), maxID),
			UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: printable(version(n), maxVersion)},
		}
	}
	if len(r.GetTypeUrl()) > maxName || len(r.GetResponseNonce()) > maxName {
		return tooMuch("a type or a nonce is longer than %d bytes", maxName)
	}
	subscribe, unsubscribe, held := r.GetResourceNamesSubscribe(), r.GetResourceNamesUnsubscribe(), r.GetInitialResourceVersions()
	if n := max(len(subscribe), len(unsubscribe), len(held)); n > maxNames {
		return tooMuch("a request names %d resources, and may name %d", n, maxNames)
	}
	long := func(s string) bool { return len(s) > maxName }
	for _, names := range [][]string{subscribe, unsubscribe} {
		for _, name := range names {
			if long(name) {
				return tooMuch("a resource's name is %d bytes long, and may have %d", len(name), maxName)
			}
		}
	}
	for name, version := range held {
		if long(name) || long(version) {
			return tooMuch("a resource's name or version is longer than %d bytes", maxName)
		}
	}
	return nil
}

// guard is a peer's stream, whose requests are held to their bounds before anything is kept of them. It also ends a stream
// on which nothing is ever said.
type guard struct {
	discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
	silence *time.Timer

	mu     sync.Mutex
	reason error // why the stream is refused
}

// newGuard makes one. end ends the stream.
func newGuard(g discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer, silence time.Duration, end context.CancelFunc) *guard {
	peer := &guard{AggregatedDiscoveryService_DeltaAggregatedResourcesServer: g}
	peer.silence = time.AfterFunc(silence, func() {
		peer.refuse(status.Error(codes.DeadlineExceeded, "ads: nothing was asked for on this stream within "+silence.String()))
		end()
	})
	return peer
}

// Recv implements the stream's.
func (g *guard) Recv() (*discovery.DeltaDiscoveryRequest, error) {
	r, err := g.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Recv()
	if err != nil {
		// gRPC itself refuses a request that is too large, and the peer is told already.
		if status.Code(err) == codes.ResourceExhausted {
			g.refuse(err)
		}
		return nil, err
	}
	g.silence.Stop()
	if err := checkRequest(r); err != nil {
		g.refuse(err)
		return nil, err
	}
	return r, nil
}

func (g *guard) refuse(reason error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reason == nil {
		g.reason = reason
	}
}

// refused is why the stream is refused, nil if it is not.
func (g *guard) refused() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reason
}

// within holds all that a stream has asked for so far to its bounds, of which s is what has just changed.
func (st *stream) within(s *subscription) error {
	names := 0
	for _, one := range st.types {
		names += max(len(one.names), len(one.sent), len(one.accepted))
	}
	// Resources that are served are no peer's invention.
	for t := range st.types {
		if c := st.server.snapshot[t]; c != nil {
			names -= min(len(c.resources), len(st.types[t].sent))
		}
	}
	if names > maxNames {
		return tooMuch("this stream names more than %d resources that are not there", maxNames)
	}
	afloat := 0
	for _, f := range s.flights {
		afloat += len(f.versions)
	}
	if len(s.flights) > maxFlights || len(s.flights) > 1 && afloat > maxAfloat {
		return tooMuch("%d responses with %d resources are not answered: accept or refuse them before asking for more", len(s.flights), afloat)
	}
	return nil
}

// tellRefused logs that a peer was refused, but not each time if there are many.
func (s *Server) tellRefused(address string, reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.toldRefused) < tellAgain {
		s.untold++
		return
	}
	s.log.Warn("a connection to the control plane is refused", "address", address, "why", printable(status.Convert(reason).Message(), maxWords), "others_since", s.untold)
	s.toldRefused, s.untold = time.Now(), 0
}

// printable is what may be shown of a peer's words, in a log or on a terminal: no more bytes than limit, on one line, and
// nothing that steers what shows it.
func printable(words string, limit int) string {
	if len(words) > limit {
		words = words[:limit]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r) && r != unicode.ReplacementChar:
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return -1
	}, words)
}
