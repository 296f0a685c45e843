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

// Any peer that reaches the port can open a stream, so there is a limit on everything that the server keeps for a peer.
// An Envoy stays far below all of these limits.
const (
	// DefaultMaxEnvoys is how many Envoys may be connected at once if [Options] sets no limit.
	DefaultMaxEnvoys = 2000
	// maxRequest is the largest request, in bytes. An Envoy that reconnects names every resource that it holds, with about
	// 100 bytes each.
	maxRequest = 4 << 20
	// maxStreams is how many streams a connection may have. An Envoy uses two: one for resources and one for reports on
	// which servers it reaches.
	maxStreams = 4
	// maxHeaders is the largest size of a stream's headers, in bytes.
	maxHeaders = 16 << 10
	// maxID is the longest id, and the longest cluster, of a node, in bytes.
	maxID = 512
	// maxName is the longest name of a resource, name of a type, nonce or version, in bytes.
	maxName = 1 << 10
	// maxNames is how many resources a stream may name: of all types together, and in all of its requests together.
	maxNames = 16 << 10
	// maxFlights is how many responses of one type a peer may leave unanswered.
	maxFlights = 256
	// maxAfloat is how many resources unanswered responses of one type may hold together.
	maxAfloat = 4 * maxNames
	// maxStrange is how many types that are not served here a stream may ask for.
	maxStrange = 32
	// maxWords is how many bytes of Envoy's error text are kept. Such a text quotes the resource that Envoy refused.
	maxWords = 1 << 10
	// maxVersion is how many bytes of Envoy's own version are kept.
	maxVersion = 64
	// firstRequest is how long a new stream may stay without a request.
	firstRequest = 30 * time.Second
	// tellAgain is the shortest time between two log lines about refused peers.
	tellAgain = time.Second
)

// tooMuch returns the error that refuses a peer. Its text says what to change, and quotes nothing that the peer sent.
func tooMuch(format string, args ...any) error {
	return status.Error(codes.InvalidArgument, "ads: "+fmt.Sprintf(format, args...))
}

// checkRequest returns an error if a request exceeds a limit. It also removes from the request what the server does not
// need. Without that, the list of all extensions in an Envoy's node would be kept for as long as the Envoy is
// connected.
func checkRequest(r *discovery.DeltaDiscoveryRequest) error {
	if n := r.GetNode(); n != nil {
		for what, value := range map[string]string{"id": n.GetId(), "cluster": n.GetCluster()} {
			if len(value) > maxID {
				return tooMuch("the node's %s is %d bytes long, and may have %d: shorten node.%s in the bootstrap", what,
					len(value), maxID, what)
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
	subscribe, unsubscribe, held := r.GetResourceNamesSubscribe(), r.GetResourceNamesUnsubscribe(),
		r.GetInitialResourceVersions()
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

// guard wraps a peer's stream. It checks the limits of each request before anything of the request is kept. It also
// ends a stream on which no request comes.
type guard struct {
	discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
	silence *time.Timer

	mu     sync.Mutex
	reason error // why the stream is refused; nil if it is not
}

// newGuard returns a guard of g. It calls end, which must end the stream, if no request comes for as long as silence.
func newGuard(g discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer, silence time.Duration,
	end context.CancelFunc) *guard {
	peer := &guard{AggregatedDiscoveryService_DeltaAggregatedResourcesServer: g}
	peer.silence = time.AfterFunc(silence, func() {
		peer.refuse(status.Error(codes.DeadlineExceeded,
			"ads: nothing was asked for on this stream within "+silence.String()))
		end()
	})
	return peer
}

// Recv returns the peer's next request, or the error that refuses the peer.
func (g *guard) Recv() (*discovery.DeltaDiscoveryRequest, error) {
	r, err := g.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Recv()
	if err != nil {
		// gRPC itself refuses a request that is too large, and has already sent the status to the peer.
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

// refused returns why the stream is refused, or nil if it is not.
func (g *guard) refused() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reason
}

// within returns an error if what the stream has asked for so far exceeds a limit. s is the subscription that has just
// changed.
func (st *stream) within(s *subscription) error {
	names := 0
	for _, one := range st.types {
		names += max(len(one.names), len(one.sent), len(one.accepted))
	}
	// Only names of resources that do not exist count against the limit.
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
		return tooMuch("%d responses with %d resources are not answered: accept or refuse them before asking for more",
			len(s.flights), afloat)
	}
	return nil
}

// tellRefused logs that a peer was refused, at most once in each tellAgain. The next line has the number of those that
// were not logged.
func (s *Server) tellRefused(address string, reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.toldRefused) < tellAgain {
		s.untold++
		return
	}
	s.log.Warn("a connection to the control plane is refused", "address", address, "why",
		printable(status.Convert(reason).Message(), maxWords), "others_since", s.untold)
	s.toldRefused, s.untold = time.Now(), 0
}

// printable returns the part of a peer's text that is safe to show in a log or on a terminal: at most limit bytes, on
// one line, and without control characters.
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
