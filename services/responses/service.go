package responses

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/relay"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/socket"
	"github.com/harmonyedge/harmonyedge/services/responses/spans"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
	"github.com/harmonyedge/harmonyedge/services/responses/turn"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// DefaultQueue is how many responses of a tenant may wait or run in the background.
const DefaultQueue = 1000

// Options are what a [Service] has from its beginning to its end, and the settings that it begins with.
type Options struct {
	Store store.Options
	// Key is the service's own key at the gateway, if the gateway tells clients apart.
	Key string
	// SealKeys open and seal the reasoning that clients carry. Nil: none is sealed.
	SealKeys *seal.Keys
	// Queue is how many responses of a tenant may wait or run in the background. Others are answered 429.
	Queue int
	// Sockets are the limits of connections. A zero is the default.
	Sockets socket.Limits
	Log     *slog.Logger
	// AccessLog gets a line of JSON for each request. Nil: there is no access log.
	AccessLog io.Writer
	// Tracer makes spans. Nil: there are none.
	Tracer trace.Tracer
	// Now is the clock. Nil is [time.Now].
	Now func() time.Time
	// Settings are those that the service begins with. [Service.Apply] replaces them.
	Settings settings.Settings
}

// Service is the responses service.
type Service struct {
	options Options
	log     *slog.Logger
	now     func() time.Time
	// current are the settings in force. applying is held while others take their place.
	current  atomic.Pointer[settings.Snapshot]
	applying sync.Mutex
	// env is what turns have of the service.
	env *turn.Env
	// relays pass requests on.
	relays *relay.Env
	// memory is what the texts of requests take, inFlight the requests, and connected the connections.
	memory, inFlight, connected *quota.Pool
	accessLog                   accessLog
	metrics                     *metrics
	// database is nil until the store has answered for the first time.
	database atomic.Pointer[store.Store]
	// reached is closed when the store has answered.
	reached chan struct{}
	sockets *socket.Server
	// recent are the responses that connections remember.
	recent *recent
	// toolServers calls servers of tools.
	toolServers *toolserver.Pool
	// slots are for responses in the background. kick wakes their makers.
	slots slots
	kick  chan struct{}
	// draining is closed when no new work is begun, stopping when the service ends, and cutting when what runs is to end
	// at once.
	draining, stopping, cutting chan struct{}
	drain, stop, cut            sync.Once
	// work counts what [Service.Run] waits for, and serving the servers that need the store until they have ended.
	work, serving sync.WaitGroup
}

// New returns a service. It answers requests for what is stored 503 until [Service.Run] has reached the store.
func New(o Options) *Service {
	o.Queue = cmp.Or(o.Queue, DefaultQueue)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		options: o, log: o.Log, now: o.Now, memory: quota.New(), inFlight: quota.New(), connected: quota.New(),
		recent: &recent{}, sockets: socket.NewServer(socket.Limits{}, o.Log),
		slots:       newSlots(),
		toolServers: toolserver.NewPool(toolserver.Limits{}, nil, o.Log),
		kick:        make(chan struct{}, 1), reached: make(chan struct{}),
		draining: make(chan struct{}), stopping: make(chan struct{}), cutting: make(chan struct{}),
	}
	s.accessLog.to, s.metrics = o.AccessLog, newMetrics(s)
	s.env = &turn.Env{Log: o.Log, Now: o.Now, Gateway: upstream.New(o.Key, o.SealKeys, o.Log), Tools: s.toolServers,
		Spans: spans.Maker{Tracer: o.Tracer}, Metrics: s.metrics, Stored: s.stored, Encrypted: o.Store.Keys != nil}
	s.relays = &relay.Env{Log: o.Log, Gateway: s.env.Gateway, Metrics: s.metrics.relays}
	s.Apply(o.Settings)
	return s
}

// sockets returns the limits of connections. Requests that wait there take at most an eighth of the memory on top of
// it.
func (o *Options) sockets(now *settings.Snapshot) socket.Limits {
	l := o.Sockets
	l.Frame = now.BodyLimit
	l.AllPending = cmp.Or(l.AllPending, max(now.Memory/8, 2*l.Frame))
	return l.OrDefaults()
}

// stored returns the store, or the error for a store that has not answered yet.
func (s *Service) stored() (*store.Store, *openai.Error) {
	if st := s.database.Load(); st != nil {
		return st, nil
	}
	return nil, refusal.StoreAway()
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
	o := s.options.Store
	o.Now, o.Observe = s.now, s.metrics.operation
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
		s.log.Warn("the store does not answer; trying again", "error", err, "wait", wait)
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

// Drain makes the service begin nothing that lasts: no response in the background, and no response of a connection.
// Each connection is closed when its responses have been made.
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

// Cut ends the service at once: what runs has no time left.
func (s *Service) Cut() {
	s.Stop()
	s.cut.Do(func() { close(s.cutting) })
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
	if st, failure := s.stored(); failure == nil && !st.Encrypted() {
		w.Header().Set(contract.StoreHeader, contract.ClearStore)
	}
	_, _ = io.WriteString(w, "ready\n") // the asker may have left
}

// expiryInterval is how often what has expired is removed.
const expiryInterval = time.Minute

func (s *Service) expire(ctx context.Context, st *store.Store) {
	for {
		if err := st.KeepReserve(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("the disk of the store is full: it stores only what finds room among what was removed", "error", err)
		}
		removed, err := st.Expire(ctx, s.now().Add(-s.settings().EventRetention))
		s.metrics.expired.Add(float64(removed))
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Warn("what has expired was not removed", "error", err)
		case removed > 0:
			s.log.Info("removed expired responses", "responses", removed)
		}
		if !s.pause(ctx, expiryInterval) {
			return
		}
	}
}
