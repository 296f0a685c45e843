package limits

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

const (
	// stepLimit is how long the ledger may take for one step.
	stepLimit = 2 * time.Second
	// maxTokens is the most that one request counts.
	maxTokens = 1 << 40
	// maxName is the longest name of a client or of a model, in bytes, and maxID the longest id of a reservation.
	maxName = 512
	maxID   = 64
)

// Options are what a [Service] needs.
type Options struct {
	Ledger ledger.Ledger
	// Listener is where [Service.Run] answers Envoys. DrainTime is how long what they have asked may take at the end.
	Listener  net.Listener
	DrainTime time.Duration
	Log       *slog.Logger // nil logs nothing
}

// Service answers Envoys, by the limits of a keys file. It implements the server of envoy.service.ratelimit.v3, and is a
// [follow.Part].
type Service struct {
	rlsv3.UnimplementedRateLimitServiceServer
	o        Options
	metrics  *metrics
	late     *late
	failing  atomic.Bool // whether the ledger's last step failed
	answered atomic.Bool // whether the ledger has ever answered
	draining atomic.Bool
	rules    atomic.Pointer[rules]
	first    sync.Once
	applied  chan struct{} // closed by the first keys file
}

// New returns a service. The caller must call [Service.Run], or [Service.Close].
func New(o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o, applied: make(chan struct{})}
	s.rules.Store(&none)
	s.metrics = newMetrics(s)
	s.late = newLate(s.settleLate)
	return s
}

// Close ends the settling of what could not be settled at once, after one more attempt.
func (s *Service) Close() { s.late.close() }

// ShouldRateLimit implements the service. Descriptors that are not of [contract.LimitsDomain] are let through.
func (s *Service) ShouldRateLimit(ctx context.Context, r *rlsv3.RateLimitRequest) (*rlsv3.RateLimitResponse, error) {
	answer := &rlsv3.RateLimitResponse{OverallCode: rlsv3.RateLimitResponse_OK}
	for _, d := range r.Descriptors {
		one := &rlsv3.RateLimitResponse_DescriptorStatus{Code: rlsv3.RateLimitResponse_OK}
		answer.Statuses = append(answer.Statuses, one)
		if r.Domain != contract.LimitsDomain {
			continue
		}
		q, err := read(d, r.HitsAddend)
		switch {
		case err != nil:
			s.metrics.invalid.Inc()
			return nil, err
		case q.settles:
			s.settle(ctx, q)
		case q.id != "":
			if err := s.reserve(ctx, q, answer, one); err != nil {
				return nil, err
			}
		}
	}
	return answer, nil
}

// request is what a descriptor says.
type request struct {
	client, model, id string
	tokens            int64 // ledger.Unknown if the descriptor has no hits
	settles           bool
}

// read reads a descriptor. One without an id is not ours.
func read(d *ratelimitv3.RateLimitDescriptor, hits uint32) (q request, err error) {
	for _, e := range d.Entries {
		switch e.Key {
		case contract.LimitsClient:
			q.client = e.Value
		case contract.LimitsModel:
			q.model = e.Value
		case contract.LimitsReservation:
			q.id = e.Value
		case contract.LimitsSettlement:
			q.id, q.settles = e.Value, true
		default:
			continue
		}
		if len(e.Value) > maxName {
			return q, status.Errorf(codes.InvalidArgument, "the descriptor's %s is longer than %d bytes", e.Key, maxName)
		}
	}
	if len(q.id) > maxID || strings.Contains(q.id, "|") {
		return q, status.Errorf(codes.InvalidArgument, "the reservation's id has more than %d bytes, or a bar", maxID)
	}
	q.tokens = ledger.Unknown
	if d.HitsAddend != nil {
		q.tokens = int64(min(d.HitsAddend.Value, maxTokens))
	} else if hits > 0 {
		q.tokens = int64(hits)
	}
	return q, nil
}

// step calls the ledger. An Envoy that no longer waits for the answer does not end a step halfway.
func (s *Service) step(ctx context.Context, name string, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepLimit)
	defer cancel()
	start := time.Now()
	err := call(ctx)
	s.metrics.seconds.WithLabelValues(name).Observe(time.Since(start).Seconds())
	if err != nil {
		s.metrics.errors.WithLabelValues(name).Inc()
	} else {
		s.answered.Store(true)
	}
	if failed := err != nil; s.failing.Swap(failed) != failed {
		if failed {
			s.o.Log.Warn("the ledger fails; what cannot be reserved is left to each Envoy's limits.on_failure", "error", err)
		} else {
			s.o.Log.Info("the ledger answers again")
		}
	}
	return err
}

func (s *Service) reserve(ctx context.Context, q request, answer *rlsv3.RateLimitResponse,
	one *rlsv3.RateLimitResponse_DescriptorStatus,
) error {
	r := ledger.Reservation{ID: q.id, Client: q.client, Model: q.model, Tokens: max(q.tokens, 0),
		Limits: (*s.rules.Load())(q.client, q.model)}
	var a ledger.Answer
	if err := s.step(ctx, stepReserve, func(ctx context.Context) (err error) {
		a, err = s.o.Ledger.Reserve(ctx, r)
		return err
	}); err != nil {
		return status.Error(codes.Unavailable, "the ledger does not answer")
	}
	if a.Refusal != nil {
		s.metrics.refused.WithLabelValues(string(a.Refusal.Limit.Resource)).Inc()
		one.Code, answer.OverallCode = rlsv3.RateLimitResponse_OVER_LIMIT, rlsv3.RateLimitResponse_OVER_LIMIT
		answer.RawBody = refusalBody(q.model, a.Refusal)
	} else {
		s.metrics.granted.Inc()
		s.metrics.reserved.Add(float64(r.Tokens))
		if ctx.Err() != nil {
			// Nobody gets this answer: the client has left, or Envoy has waited too long and decides by itself.
			s.metrics.withdrawn.Inc()
			_ = s.step(ctx, stepWithdraw, func(ctx context.Context) error {
				return s.o.Ledger.Withdraw(ctx, q.client, q.id) // if it fails, the slot ends in its time
			})
		}
	}
	answer.ResponseHeadersToAdd = append(answer.ResponseHeadersToAdd, headers(r.Limits, &a)...)
	return nil
}

// settle settles a request, later if the ledger fails. Envoy does not wait for the answer.
func (s *Service) settle(ctx context.Context, q request) {
	settlement := ledger.Settlement{ID: q.id, Client: q.client, Model: q.model, Tokens: q.tokens,
		Limits: (*s.rules.Load())(q.client, q.model)}
	if q.id == "" {
		return // the filter named no reservation: it did not read the request
	}
	err := s.step(ctx, stepSettle, func(ctx context.Context) error { return s.o.Ledger.Settle(ctx, settlement) })
	switch {
	case err == nil:
		s.metrics.settled.Inc()
		s.metrics.used.Add(float64(max(q.tokens, 0)))
	case !s.late.add(settlement):
		s.metrics.dropped.Inc()
	}
}

// settleLate is settle for what has waited.
func (s *Service) settleLate(ctx context.Context, settlement ledger.Settlement) error {
	err := s.step(ctx, stepSettle, func(ctx context.Context) error { return s.o.Ledger.Settle(ctx, settlement) })
	if err == nil {
		s.metrics.settled.Inc()
		s.metrics.used.Add(float64(max(settlement.Tokens, 0)))
	}
	return err
}

// Ready returns nil once the ledger has answered, until [Service.Drain]. It stays ready when the ledger fails later:
// settlements wait here for it, and would be lost if Envoys went elsewhere.
func (s *Service) Ready(ctx context.Context) error {
	if s.draining.Load() {
		return errDraining
	}
	if s.answered.Load() {
		return nil
	}
	return s.pingLedger(ctx)
}

// pingLedger returns an error if the ledger does not answer now.
func (s *Service) pingLedger(ctx context.Context) error {
	return s.step(ctx, stepReady, s.o.Ledger.Ready)
}

// Drain makes the service say that it is not ready.
func (s *Service) Drain() { s.draining.Store(true) }

// Books returns the ledger's books.
func (s *Service) Books(ctx context.Context) ([]ledger.Book, error) { return s.o.Ledger.Books(ctx) }
