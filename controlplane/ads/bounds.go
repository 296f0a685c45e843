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
	"google.golang.org/protobuf/types/known/structpb"
)

// Any peer that reaches the port can open a stream, so there is a limit on everything that the server keeps for a peer.
// An Envoy stays far below all of these limits.
const (
	// DefaultMaxEnvoys is how many Envoys may be connected at once if [Options] sets no limit.
	DefaultMaxEnvoys = 2000
	// maxRequest is the largest request, in bytes. An Envoy that reconnects names every resource that it holds, with about
	// 100 bytes each.
	maxRequest = 4 << 20
	// streamsOfEnvoy is how many streams an Envoy uses: one for resources, one for reports on which servers it reaches,
	// and one, for a moment, for its metrics.
	streamsOfEnvoy = 3
	// maxStreams is how many streams a connection may have.
	maxStreams = 4
	// maxHeaders is the largest size of a stream's headers, in bytes.
	maxHeaders = 16 << 10
	// maxID is the longest id, and the longest cluster, of a node, in bytes.
	maxID = 512
	// maxName is the longest name of a resource, name of a type, nonce or version, in bytes.
	maxName = 1 << 10
	// maxNames is how many resources a stream may name: of all types together, and in all of its requests together.
	maxNames = 16 << 10
	// maxUnanswered is how many responses of one type a peer may leave unanswered.
	maxUnanswered = 256
	// maxUnansweredResources is how many resources unanswered responses of one type may hold together.
	maxUnansweredResources = 4 * maxNames
	// maxUnknownTypes is how many types that are not served here a stream may ask for.
	maxUnknownTypes = 32
	// maxErrorText is how many bytes of Envoy's error text are kept. Such a text quotes the resource that Envoy refused.
	maxErrorText = 1 << 10
	// maxVersion is how many bytes of Envoy's own version are kept.
	maxVersion = 64
	// firstRequestTimeout is how long a new stream may stay without a request.
	firstRequestTimeout = 30 * time.Second
	// refusedLogInterval is the shortest time between two log lines about refused peers.
	refusedLogInterval = time.Second
)

// limitError returns the error that refuses a peer. Its text names what to change. It quotes nothing that the peer
// sent.
func limitError(format string, args ...any) error {
	return status.Error(codes.InvalidArgument, "ads: "+fmt.Sprintf(format, args...))
}

// checkRequest returns an error if a request exceeds a limit. It also removes from the request what the server does not
// need. Without that, the list of all extensions in an Envoy's node would be kept for as long as the Envoy is
// connected.
func checkRequest(r *discovery.DeltaDiscoveryRequest) error {
	if n := r.GetNode(); n != nil {
		for field, value := range map[string]string{"id": n.GetId(), "cluster": n.GetCluster(),
			`metadata["` + GroupMetadata + `"]`: group(n)} {
			if len(value) > maxID {
				return limitError("the node's %s is %d bytes long, and may have %d: shorten node.%s in the bootstrap", field,
					len(value), maxID, field)
			}
		}
		named := printable(group(n), maxID)
		r.Node = &corev3.Node{
			Id: printable(n.GetId(), maxID), Cluster: printable(n.GetCluster(), maxID),
			UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: printable(version(n), maxVersion)},
		}
		if named != "" {
			r.Node.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{
				GroupMetadata: structpb.NewStringValue(named)}}
		}
	}
	if len(r.GetTypeUrl()) > maxName || len(r.GetResponseNonce()) > maxName {
		return limitError("a type or a nonce is longer than %d bytes", maxName)
	}
	subscribe, unsubscribe, held := r.GetResourceNamesSubscribe(), r.GetResourceNamesUnsubscribe(),
		r.GetInitialResourceVersions()
	if n := max(len(subscribe), len(unsubscribe), len(held)); n > maxNames {
		return limitError("a request names %d resources, and may name %d", n, maxNames)
	}
	tooLong := func(s string) bool { return len(s) > maxName }
	for _, names := range [][]string{subscribe, unsubscribe} {
		for _, name := range names {
			if tooLong(name) {
				return limitError("a resource's name is %d bytes long, and may have %d", len(name), maxName)
			}
		}
	}
	for name, version := range held {
		if tooLong(name) || tooLong(version) {
			return limitError("a resource's name or version is longer than %d bytes", maxName)
		}
	}
	return nil
}

// guard wraps a peer's stream. It checks the limits of each request before anything of the request is kept. It also
// ends a stream on which no request comes.
type guard struct {
	discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
	timer *time.Timer

	mu     sync.Mutex
	reason error // why the stream is refused; nil if it is not
}

// newGuard returns a guard of g. It calls cancel, which must end the stream, if no request arrives within timeout.
func newGuard(g discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer, timeout time.Duration,
	cancel context.CancelFunc) *guard {
	peer := &guard{AggregatedDiscoveryService_DeltaAggregatedResourcesServer: g}
	peer.timer = time.AfterFunc(timeout, func() {
		peer.refuse(status.Error(codes.DeadlineExceeded,
			"ads: no request on this stream within "+timeout.String()))
		cancel()
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
	g.timer.Stop()
	if err := checkRequest(r); err != nil {
		g.refuse(err)
		return nil, err
	}
	return r, nil
}

// Send sends a response and then drops its content. Of an unanswered response only its nonce and the
// versions in it are kept.
func (g *guard) Send(r *discovery.DeltaDiscoveryResponse) error {
	err := g.AggregatedDiscoveryService_DeltaAggregatedResourcesServer.Send(r)
	r.Resources = nil
	return err
}

func (g *guard) refuse(reason error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reason == nil {
		g.reason = reason
	}
}

// refusal returns why the stream is refused, or nil if it is not.
func (g *guard) refusal() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reason
}

// checkLimits returns an error if what the stream has asked for so far exceeds a limit. s is the subscription that has
// just changed.
func (st *stream) checkLimits(s *subscription) error {
	names := 0
	for _, one := range st.types {
		names += max(len(one.names), len(one.sent), len(one.accepted))
	}
	// Only names of resources that do not exist count against the limit.
	for t := range st.types {
		if c := st.collection(t); c != nil {
			names -= min(len(c.resources), len(st.types[t].sent))
		}
	}
	if names > maxNames {
		return limitError("this stream names more than %d resources that do not exist", maxNames)
	}
	resources := 0
	for _, f := range s.unanswered {
		resources += len(f.versions)
	}
	if len(s.unanswered) > maxUnanswered || len(s.unanswered) > 1 && resources > maxUnansweredResources {
		return limitError("%d responses with %d resources are not answered: accept or refuse them before asking for more",
			len(s.unanswered), resources)
	}
	return nil
}

// logRefused logs that a peer was refused, at most once in each refusedLogInterval. The next line has the number of
// those that were not logged.
func (s *Server) logRefused(address string, reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.refusedLogged) < refusedLogInterval {
		s.refusedUnlogged++
		return
	}
	s.log.Warn("a connection to the control plane is refused", "address", address, "why",
		printable(status.Convert(reason).Message(), maxErrorText), "others_since", s.refusedUnlogged)
	s.refusedLogged, s.refusedUnlogged = time.Now(), 0
}

// printable returns the part of a peer's text that is safe to show in a log or on a terminal: at most limit bytes, on
// one line, and without control characters.
func printable(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r) && r != unicode.ReplacementChar:
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return -1
	}, text)
}
