package responses

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/egress"
	"github.com/harmonyedge/harmonyedge/services/responses/socket"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// The defaults of [Options].
const (
	// DefaultRetention is how long OpenAI keeps responses.
	DefaultRetention = 30 * 24 * time.Hour
	// DefaultEventRetention is how long a stream can be resumed after its response was created.
	DefaultEventRetention = time.Hour
	// DefaultBackground is how many responses a replica makes in the background at once.
	DefaultBackground = 16
	// DefaultBodyLimit is the largest request body, and the largest stored conversation, in bytes.
	DefaultBodyLimit = 4 << 20
	// DefaultQueue is how many responses of a tenant may wait or run in the background.
	DefaultQueue = 1000
	// DefaultMemory is what requests may take together, in bytes.
	DefaultMemory = 1 << 30
	// DefaultInFlight is how many requests a replica handles at once. Each may hold a few bodies.
	DefaultInFlight = 512
)

// Keep says which reasoning of stored responses is kept.
type Keep string

// The values of [Keep].
const (
	// KeepAll keeps it.
	KeepAll Keep = "keep"
	// KeepUntilFinal removes it once an answer on the final channel has followed.
	KeepUntilFinal Keep = "until_final"
	// KeepNone does not store it.
	KeepNone Keep = "never"
)

// Options are what a [Service] needs.
type Options struct {
	// Gateway is the URL at which the models are asked, without a path.
	Gateway string
	Store   store.Options
	// Retention is how long responses are kept, and EventRetention how long the events of streams in the background are.
	Retention, EventRetention time.Duration
	// Reasoning says which reasoning is kept. Empty is [KeepAll].
	Reasoning Keep
	// DropCommentary reports whether what a model says before a call is not stored.
	DropCommentary bool
	// TenantHeader is the header whose value names the tenant. Empty: there is one tenant.
	TenantHeader string
	// Clients reports whether the gateway tells clients apart. The tenant is then the client, beside TenantHeader. Key is the
	// service's own key there. ClientHeader is the header in which the gateway expects a client's name, if it checks no keys.
	Clients           bool
	Key, ClientHeader string
	// SealKeys open and seal the reasoning that clients carry. Nil: none is sealed.
	SealKeys *seal.Keys
	// SealLifetime is how long sealed reasoning can be opened.
	SealLifetime time.Duration
	// HidesReasoning reports whether a model's clients do not see its reasoning. Nil: they do.
	HidesReasoning func(model string) bool
	// Retries reports whether an answer of a model that is lost before its client has seen any of it is asked for once
	// more. Nil: no model's is.
	Retries func(model string) bool
	// TokenIDs reports whether the conversations of a model may hold the ids of their tokens. Nil: those of no model.
	TokenIDs func(model string) bool
	// BodyLimit is the largest request body, and the largest stored conversation that a response can continue, in bytes.
	BodyLimit int64
	// Background is how many responses are made in the background at once.
	Background int
	// Queue is how many responses of a tenant may wait or run in the background. Others are answered 503.
	Queue int
	// Memory is what requests may take together, in bytes. Others are answered 503.
	Memory int64
	// InFlight is how many requests are handled at once. Others are answered 503.
	InFlight int
	// WebSocket reports whether connections are served, within the limits Sockets. A zero in Sockets is the default.
	WebSocket bool
	Sockets   socket.Limits
	// Origins are the origins of other hosts whose pages may open connections. Browsers send the origin of a page.
	Origins []string
	Tools   ToolOptions
	Log     *slog.Logger
	// AccessLog gets a line of JSON for each request. Nil: there is no access log.
	AccessLog io.Writer
	// Tracer makes spans. Nil: there are none.
	Tracer trace.Tracer
	// Now is the clock. Nil is [time.Now].
	Now func() time.Time
}

// Service is the responses service.
type Service struct {
	Options
	client *http.Client
	// memory is what the texts of requests take, inFlight the requests, and connected the connections.
	memory, inFlight, connected *quota
	accessLog                   accessLog
	metrics                     *metrics
	// database is nil until the store has answered for the first time.
	database atomic.Pointer[store.Store]
	// reached is closed when the store has answered.
	reached chan struct{}
	sockets *socket.Server
	// recent are the responses that connections remember.
	recent *recent
	// guard knows which servers requests may name, and toolServers calls servers of tools.
	guard       *egress.Guard
	toolServers *toolserver.Pool
	// kick wakes the makers of responses in the background.
	kick chan struct{}
	// draining is closed when no new work is begun, and stopping when the service ends.
	draining, stopping chan struct{}
	drain, stop        sync.Once
	// work counts what [Service.Run] waits for, and serving the servers that need the store until they have ended.
	work, serving sync.WaitGroup
}

// New returns a service. It answers requests for what is stored 503 until [Service.Run] has reached the store.
func New(o Options) *Service {
	o.Gateway = strings.TrimSuffix(o.Gateway, "/")
	o.Retention = cmp.Or(o.Retention, DefaultRetention)
	o.EventRetention = cmp.Or(o.EventRetention, DefaultEventRetention)
	o.SealLifetime = cmp.Or(o.SealLifetime, time.Duration(contract.DefaultSealLifetimeS)*time.Second)
	o.BodyLimit = cmp.Or(o.BodyLimit, DefaultBodyLimit)
	o.Memory = cmp.Or(o.Memory, DefaultMemory)
	o.Queue = cmp.Or(o.Queue, DefaultQueue)
	o.Background = cmp.Or(o.Background, DefaultBackground)
	o.InFlight = cmp.Or(o.InFlight, DefaultInFlight)
	o.Tools = o.Tools.orDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	never := func(string) bool { return false }
	if o.HidesReasoning == nil {
		o.HidesReasoning = never
	}
	if o.Retries == nil {
		o.Retries = never
	}
	if o.TokenIDs == nil {
		o.TokenIDs = never
	}
	o.Sockets = o.sockets()
	s := &Service{
		Options: o, memory: newQuota(&o, o.Memory), inFlight: newQuota(&o, int64(o.InFlight)),
		connected: newQuota(&o, int64(o.Sockets.Connections)), sockets: socket.NewServer(o.Sockets, o.Log),
		recent: newRecent(o.BodyLimit, o.Memory), kick: make(chan struct{}, 1), reached: make(chan struct{}),
		draining: make(chan struct{}), stopping: make(chan struct{}),
		client: &http.Client{
			// The gateway limits how long an answer may take. A redirect would be somebody else's answer.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{MaxIdleConnsPerHost: o.InFlight, IdleConnTimeout: time.Minute,
				DisableCompression: true},
		},
	}
	s.accessLog.to, s.metrics = o.AccessLog, newMetrics(s)
	s.openToolServers()
	return s
}

// sockets returns the limits of connections. Requests that wait there take at most an eighth of the memory on top of
// it.
func (o *Options) sockets() socket.Limits {
	l := o.Sockets
	l.Frame = o.BodyLimit
	l.AllPending = cmp.Or(l.AllPending, max(o.Memory/8, 2*l.Frame))
	return l.OrDefaults()
}

// stored returns the store, or the error for a store that has not answered yet.
func (s *Service) stored() (*store.Store, *openai.Error) {
	if st := s.database.Load(); st != nil {
		return st, nil
	}
	return nil, errStore()
}

// Reached is closed when the store has answered for the first time.
func (s *Service) Reached() <-chan struct{} { return s.reached }

// The waits between two attempts to reach the store.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// Run reaches the store, makes responses in the background, and removes what has expired, until ctx ends or
// [Service.Stop] is called. It returns an error if the store cannot be used as it is.
func (s *Service) Run(ctx context.Context) error {
	if err := s.reach(ctx); err != nil {
		return err
	}
	st := s.database.Load()
	if st == nil {
		return nil
	}
	defer st.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.work.Go(func() { s.expire(ctx, st) })
	s.work.Go(func() { s.makeInBackground(ctx, st) })
	select {
	case <-ctx.Done():
	case <-s.stopping:
	}
	s.work.Wait()
	s.serving.Wait()
	return nil
}

// reach opens the store. It tries again while the database does not answer.
func (s *Service) reach(ctx context.Context) error {
	o := s.Options.Store
	o.Now, o.Observe = s.Now, s.metrics.operation
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		st, err := store.Open(ctx, o)
		if err == nil {
			s.database.Store(st)
			close(s.reached)
			return nil
		}
		var setup *store.SetupError
		if errors.As(err, &setup) {
			return err
		}
		s.Log.Warn("the store does not answer; trying again", "error", err, "wait", wait)
		if !s.pause(ctx, wait) {
			return nil
		}
	}
}

// pause waits, and reports false if the service or ctx ends meanwhile.
func (s *Service) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-s.stopping:
		return false
	case <-time.After(d):
		return true
	}
}

// Drain makes the service begin nothing that lasts: no response in the background, and none of a connection. Each
// connection is closed when its responses have been made.
func (s *Service) Drain() {
	s.drain.Do(func() {
		close(s.draining)
		s.sockets.Drain()
	})
}

// Stop ends the service, after [Service.Drain]: what runs is ended when ctx ends.
func (s *Service) Stop() {
	s.Drain()
	s.stop.Do(func() { close(s.stopping) })
}

// Ready returns an error if what is stored cannot be read now.
func (s *Service) Ready(ctx context.Context) error {
	st, failure := s.stored()
	if failure != nil {
		return failure
	}
	return st.Ping(ctx)
}

// readyLimit is how long the store may take to answer whether it is there.
const readyLimit = 2 * time.Second

// ServeReady answers whether what is stored can be read. Envoys send no client's request there.
func (s *Service) ServeReady(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyLimit)
	defer cancel()
	if s.Ready(ctx) != nil {
		http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ready\n") // the asker may have left
}

// expiryInterval is how often what has expired is removed.
const expiryInterval = time.Minute

func (s *Service) expire(ctx context.Context, st *store.Store) {
	for {
		if err := st.KeepReserve(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("the disk of the store is full: it stores only what finds room among what was removed", "error", err)
		}
		removed, err := st.Expire(ctx, s.Now().Add(-s.EventRetention))
		s.metrics.expired.Add(float64(removed))
		switch {
		case err != nil && ctx.Err() == nil:
			s.Log.Warn("what has expired was not removed", "error", err)
		case removed > 0:
			s.Log.Info("removed expired responses", "responses", removed)
		}
		if !s.pause(ctx, expiryInterval) {
			return
		}
	}
}
