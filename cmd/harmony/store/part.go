package store

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
	"github.com/harmonyedge/harmonyedge/services/responses"
)

// PartOptions are the settings of a [Part].
type PartOptions struct {
	// Runs reports whether this program runs the service of a configuration.
	Runs func(*config.ResponsesService) bool
	// Listen is where the service listens if the configuration does not say.
	Listen string
	// LaterGateway reports whether the program knows only later where the models are asked, and calls [Part.AskAt].
	LaterGateway bool
	// DrainTime is how long what runs may take to end.
	DrainTime time.Duration
	// OwnKey reports whether the program makes the service's key at the gateway, if the environment has none.
	OwnKey bool
	// Fatal reports whether the program ends when the service fails.
	Fatal bool
	Log   *slog.Logger
}

// NextStart returns a [follow.Program].NextStart for a program that runs the service if the configuration says so, beside
// parts.
func NextStart(name string, parts ...config.Part) func(before, after *config.Config) error {
	without, with := follow.NextStart(name, parts...), follow.NextStart(name, append(parts, config.PartService)...)
	return func(before, after *config.Config) error {
		if before.ResponsesService.Runs() && after.ResponsesService.Runs() {
			return with(before, after)
		}
		return without(before, after)
	}
}

// Part is the responses service in a program: a [follow.Part]. The service starts with the first version that has it,
// follows the versions, and is drained when one does not have it any more.
type Part struct {
	o PartOptions
	// key is the service's key at the gateway. made reports whether this program has made it.
	key  string
	made bool
	// gateway is where the models are asked if a configuration does not say, once known is closed.
	gateway string
	known   chan struct{}
	failed  chan error // how the service has ended by itself

	mu      sync.Mutex
	now     *running     // nil: there is no service
	leaving *running     // is being drained; nil if none is
	free    string       // the free address that Adjust has found, or ""
	bound   net.Listener // there, until the service has it
	running sync.WaitGroup
}

// running is a service that runs.
type running struct {
	service  *responses.Service
	listener net.Listener
	traces   *cli.Traces
	config   *config.Config // of the version in force; under the part's lock
	stop     context.CancelFunc
	stay     chan struct{} // closed: it does not leave after all
	done     chan struct{} // closed when it has ended
	err      error         // how it has ended; written before done is closed
}

// NewPart returns the service of a program, which does not run yet.
func NewPart(o PartOptions) *Part {
	p := &Part{o: o, key: os.Getenv(serviceKeyVariable), known: make(chan struct{}), failed: make(chan error, 1)}
	if p.key == "" && o.OwnKey {
		p.key, p.made = clients.NewKey(), true
	}
	if !o.LaterGateway {
		close(p.known)
	}
	return p
}

// Deputy returns the hash of the service's key, if no keys file has it.
func (p *Part) Deputy() clients.Hash {
	if !p.made {
		return clients.Hash{}
	}
	return clients.HashOf(p.key)
}

// Adjust writes the address into a configuration whose service takes a free port, so that Envoys find it.
func (p *Part) Adjust(c *config.Config) error {
	if !p.o.Runs(&c.ResponsesService) || c.ResponsesService.Listen != "" || p.o.Listen == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free == "" {
		l, err := cli.Listen(p.o.Listen, listenSetting)
		if err != nil {
			return err
		}
		p.bound, p.free = l, l.Addr().String()
	}
	c.ResponsesService.Listen = p.free
	return nil
}

const listenSetting = "responses_service.listen"

// AskAt says where the models are asked if a configuration does not say, and waits for the store, but not long: what
// needs no store is served meanwhile. It returns the error of a store that cannot be used as it is.
func (p *Part) AskAt(gateway string) error {
	p.mu.Lock()
	p.gateway = gateway
	now := p.now
	p.mu.Unlock()
	close(p.known)
	if now == nil {
		return nil
	}
	return now.wait()
}

// Check implements [follow.Part].
func (p *Part) Check(_ context.Context, v *follow.Version) error {
	if !p.o.Runs(&v.Config.ResponsesService) {
		return nil
	}
	_, err := serviceSettings(v.Config, p.askedAt())
	return refusal(err)
}

// refusal makes an error one of the configuration.
func refusal(err error) error {
	var already *config.Error
	if err == nil || errors.As(err, &already) {
		return err
	}
	return &config.Error{Reason: err.Error()}
}

// askedAt returns where the models are asked if a configuration does not say. Before that is known, it is a place at
// which nobody is asked.
func (p *Part) askedAt() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gateway == "" && p.o.LaterGateway {
		return "http://127.0.0.1:0"
	}
	return p.gateway
}

// Apply implements [follow.Part].
func (p *Part) Apply(ctx context.Context, v *follow.Version) error {
	p.mu.Lock()
	now := p.now
	p.mu.Unlock()
	switch runs := p.o.Runs(&v.Config.ResponsesService); {
	case now == nil && runs:
		return p.begin(ctx, v)
	case now != nil && !runs:
		p.leave(now)
	case now != nil:
		settings, err := serviceSettings(v.Config, p.askedAt())
		if err != nil {
			return err
		}
		if err := now.traces.Apply(ctx, v); err != nil {
			return err
		}
		p.mu.Lock()
		now.config = v.Config
		p.mu.Unlock()
		now.service.Apply(settings)
		limitHeap(now.service)
	}
	return nil
}

// begin starts the service.
func (p *Part) begin(ctx context.Context, v *follow.Version) error {
	if p.stays(v.Config) {
		return p.Apply(ctx, v)
	}
	traces := cli.NewTraces(cli.TracedService, p.o.Log)
	if err := traces.Apply(ctx, v); err != nil {
		return err
	}
	s, err := newService(v.Config, p.askedAt(), p.key, traces, p.o.Log)
	if err != nil {
		traces.Close()
		return refusal(err)
	}
	l, err := p.listen(v.Config)
	if err != nil {
		traces.Close()
		return err
	}
	limitHeap(s)
	r := &running{service: s, listener: l, traces: traces, config: v.Config, stay: make(chan struct{}),
		done: make(chan struct{})}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	p.mu.Lock()
	p.now = r
	p.mu.Unlock()
	p.running.Go(func() { p.serve(serving, r) })
	select {
	case <-p.known:
		return r.wait()
	default: // it is waited for later
		return nil
	}
}

// listen returns the service's listener, at the address that Adjust has written or at the configuration's.
func (p *Part) listen(c *config.Config) (net.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.bound; l != nil && p.free == c.ResponsesService.Listen {
		p.bound = nil
		return l, nil
	}
	l, err := cli.Listen(c.ResponsesService.ListenAddress(), listenSetting)
	if err != nil {
		return nil, &config.Error{Field: listenSetting, Reason: err.Error()}
	}
	return l, nil
}

// serve serves until ctx ends, and then waits for what runs.
func (p *Part) serve(ctx context.Context, r *running) {
	defer close(r.done)
	defer r.traces.Close()
	select {
	case <-p.known:
	case <-ctx.Done():
		r.listener.Close()
		return
	}
	if p.o.LaterGateway {
		p.mu.Lock()
		c := r.config
		p.mu.Unlock()
		if settings, err := serviceSettings(c, p.askedAt()); err == nil { // Check has accepted it
			r.service.Apply(settings)
		}
	}
	r.err = AsUsage(r.service.Serve(ctx, r.listener, p.o.DrainTime))
	p.mu.Lock()
	if p.now == r {
		p.now = nil
	}
	p.mu.Unlock()
	if r.err != nil {
		p.o.Log.Error("the responses service has ended", "error", r.err)
		select {
		case p.failed <- r.err:
		default:
		}
	}
}

// storePatience is how long the start waits for the store.
const storePatience = 5 * time.Second

// wait waits for the store, and returns the error of a service that cannot use it.
func (r *running) wait() error {
	select {
	case <-r.service.Reached():
		return nil
	case <-r.done:
		return r.err
	case <-time.After(storePatience): // what needs no store is served meanwhile
		return nil
	}
}

// envoysTime is how long a service goes on when no version has it any more: Envoys send requests until they have the
// version.
const envoysTime = 5 * time.Second

// leave drains a service that the version does not have any more.
func (p *Part) leave(r *running) {
	p.o.Log.Info("the responses service ends what it runs: the configuration does not have it any more")
	p.mu.Lock()
	p.now, p.leaving = nil, r
	p.mu.Unlock()
	p.running.Go(func() {
		select {
		case <-time.After(envoysTime):
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.leaving == r { // else it stays
				r.stop()
			}
		case <-r.stay:
		case <-r.done:
		}
	})
}

// stays reports whether a service that leaves has become the service of a configuration again. If it cannot, it is ended
// first, so that its address and its store are free.
func (p *Part) stays(c *config.Config) bool {
	p.mu.Lock()
	r := p.leaving
	p.leaving = nil
	if r == nil {
		p.mu.Unlock()
		return false
	}
	was := r.config
	p.mu.Unlock()
	if config.NextStart(was, c, "", config.PartService) == nil {
		select {
		case <-r.done:
		default:
			close(r.stay)
			p.mu.Lock()
			p.now, r.stay = r, make(chan struct{})
			p.mu.Unlock()
			return true
		}
	}
	r.stop()
	<-r.done
	return false
}

// Run implements [follow.Part].
func (p *Part) Run(ctx context.Context) error {
	var err error
	for waiting := true; waiting; {
		select {
		case <-ctx.Done():
			waiting = false
		case err = <-p.failed:
			waiting = !p.o.Fatal
		}
	}
	p.Close()
	if p.o.Fatal {
		return err
	}
	return nil
}

// Close ends the service, and waits for it. A part that runs calls it itself.
func (p *Part) Close() {
	p.mu.Lock()
	if p.bound != nil {
		p.bound.Close()
	}
	for _, r := range []*running{p.now, p.leaving} {
		if r != nil {
			r.stop()
		}
	}
	p.mu.Unlock()
	p.running.Wait()
}

// Drain implements [follow.Part].
func (p *Part) Drain() {
	if s := p.Service(); s != nil {
		s.Drain()
	}
}

// Cut ends at once what runs.
func (p *Part) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range []*running{p.now, p.leaving} {
		if r != nil {
			r.service.Cut()
		}
	}
}

// Service returns the service that runs, or nil.
func (p *Part) Service() *responses.Service {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		return nil
	}
	return p.now.service
}

// Address returns where the service that runs listens, or "".
func (p *Part) Address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == nil {
		return ""
	}
	return p.now.listener.Addr().String()
}

// Describe implements [prometheus.Collector]. The service's metrics come and go with it.
func (p *Part) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (p *Part) Collect(to chan<- prometheus.Metric) {
	if s := p.Service(); s != nil {
		s.Metrics().Collect(to)
	}
}
