package pushed

import (
	"context"
	"sync/atomic"
	"time"

	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// Any peer that reaches the port and has an ADS stream can push, so there is a limit on everything that it can cause. A
// push that is refused loses nothing: the next one has the same counters, with what they have gained.
const (
	// maxPush is the largest push, in bytes. An Envoy with the most models sends a quarter of it.
	maxPush = 1 << 20
	// receiveTimeout is how long a peer may take to send a push.
	receiveTimeout = 10 * time.Second
	// maxDecoding is how many pushes are decoded at once. Decoded, a push of [maxParts] has 20 MiB.
	maxDecoding = 4
)

// serviceName is the name of OTLP's service for metrics.
const serviceName = "opentelemetry.proto.collector.metrics.v1.MetricsService"

// Receiver takes in pushes. [New] makes one.
type Receiver struct {
	history  *history.History
	watch    *rollout.Watch // may be nil
	envoyOf  EnvoyOf
	timeout  time.Duration // how long a peer may take to send a push
	decoding chan struct{} // holds a value for each push that is decoded
	taken    atomic.Uint64
	refused  atomic.Uint64
}

// EnvoyOf returns the name of the Envoy from which a call comes. name is the one in the push, or "". It returns an error
// if the peer is not that Envoy.
type EnvoyOf func(ctx context.Context, name string) (string, error)

// Counts returns how many pushes were taken in, and how many were refused or did not come whole.
func (r *Receiver) Counts() (taken, refused uint64) { return r.taken.Load(), r.refused.Load() }

// New returns a receiver that adds what is pushed to a history, and to the watch of a rollout, which may be nil. A push
// counts under the name that envoyOf returns.
func New(h *history.History, w *rollout.Watch, envoyOf EnvoyOf) *Receiver {
	return &Receiver{history: h, watch: w, envoyOf: envoyOf, timeout: receiveTimeout, decoding: make(chan struct{}, maxDecoding)}
}

// Register adds the service to a gRPC server. Its calls end when ctx ends.
//
// It is registered as a stream of one message each way, which is the same on the wire as the unary call that it is. A
// unary call would be decoded before anything here could refuse it.
func (r *Receiver) Register(ctx context.Context, g grpc.ServiceRegistrar) {
	g.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Export", ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			err := r.export(ctx, s)
			if err != nil {
				r.refused.Add(1)
			} else {
				r.taken.Add(1)
			}
			return err
		}}},
	}, r)
}

// export takes in one push.
func (r *Receiver) export(ctx context.Context, s grpc.ServerStream) error {
	raw, err := r.receive(ctx, s)
	if err != nil {
		return err
	}
	if len(raw) > maxPush {
		return status.Errorf(codes.InvalidArgument, "metrics: a push has %d bytes, and may have %d", len(raw), maxPush)
	}
	select {
	case r.decoding <- struct{}{}:
		defer func() { <-r.decoding }()
	case <-ctx.Done():
		return status.Error(codes.Unavailable, "metrics: the control plane ends")
	case <-s.Context().Done():
		return status.FromContextError(s.Context().Err()).Err()
	}
	// On the wire it is the same as the service's own message, whose package would bring an HTTP gateway along.
	m := &metricsv1.MetricsData{}
	if !fits(raw, m.ProtoReflect().Descriptor()) {
		return status.Errorf(codes.InvalidArgument, "metrics: a push has more than %d parts", maxParts)
	}
	if err := proto.Unmarshal(raw, m); err != nil {
		return status.Error(codes.InvalidArgument, "metrics: a push is not OTLP")
	}
	p, err := read(m)
	if err != nil {
		return status.Error(codes.InvalidArgument, "metrics: "+err.Error())
	}
	if p.name, err = r.envoyOf(s.Context(), p.name); err != nil {
		return status.Error(codes.PermissionDenied, "metrics: "+err.Error())
	}
	now, from := time.Now(), p.from(address(s.Context()))
	r.history.AddOf(now, from, p.beginning(), p.families)
	if r.watch != nil {
		r.watch.Add(now, p.name, from, p.families)
	}
	return s.SendMsg(&emptypb.Empty{})
}

// receive returns the bytes of the message that a peer sends.
func (r *Receiver) receive(ctx context.Context, s grpc.ServerStream) ([]byte, error) {
	// Every field of the message is unknown to an empty one, which keeps them as they are.
	m := &emptypb.Empty{}
	received := make(chan error, 1)
	go func() { received <- s.RecvMsg(m) }() // ends at the latest when export returns
	late := time.NewTimer(r.timeout)
	defer late.Stop()
	select {
	case err := <-received:
		return m.ProtoReflect().GetUnknown(), err
	case <-late.C:
		return nil, status.Errorf(codes.DeadlineExceeded, "metrics: a push did not come within %s", r.timeout)
	case <-ctx.Done():
		return nil, status.Error(codes.Unavailable, "metrics: the control plane ends")
	}
}

// address returns the address of a peer.
func address(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}
