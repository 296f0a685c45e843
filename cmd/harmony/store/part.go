package store

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
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
	// Program is the name of the program, such as harmony up.
	Program string
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

// Part is the responses service in a program: a [follow.Part]. The service starts with the first version that has it,
// follows the versions, and is drained when one does not have it any more.
type Part struct {
	o PartOptions
	// key is the service's key at the gateway. made reports whether this program has made it.
	key  string
	made bool
	// envoysTime is how long a service goes on that no version has any more.
	envoysTime time.Duration
	known      chan struct{} // closed when gateway is known
	failed     chan error    // how the service has ended by itself
	running    sync.WaitGroup

	mu      sync.Mutex
	gateway string            // where the models are asked if a configuration does not say
	now     *running          // nil: there is no service
	leaving *departure        // of a service that goes on for a while; nil if there is none
	all     map[*running]bool // those that have not ended
	closed  bool              // nothing begins any more
	free    string            // the free address that Adjust has found, or ""
	bound   net.Listener      // is open before the service begins; nil if none is
	boundAt string            // the address of bound, as a configuration has it
}

// departure is one time that a service leaves. The service may come back, and leave again.
type departure struct{ service *running }

// running is a service that runs.
type running struct {
	service   *responses.Service
	listener  *toldListener
	traces    *cli.Traces
	accessLog io.WriteCloser // nil if there is none
	stop      context.CancelFunc
	done      chan struct{} // closed when it has ended

	// settling is held while a version comes into force. Only the goroutine that applies versions writes version.
	settling sync.Mutex
	version  *follow.Version

	// The part's mutex guards these. err is how it has ended. awaited reports whether a caller waits for its beginning, and
	// will return err.
	err     error
	awaited bool
}

// close frees what a service has that does not serve.
func (r *running) close() {
	if r.listener != nil {
		_ = r.listener.Close() // what has served it has closed it already
	}
	if r.accessLog != nil {
		r.accessLog.Close()
	}
	r.traces.Close()
}

// toldListener is a listener that tells when it is closed.
type toldListener struct {
	net.Listener
	once   sync.Once
	closed chan struct{}
}

// Close implements [net.Listener].
func (l *toldListener) Close() error {
	defer l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// NewPart returns the service of a program, which does not run yet.
func NewPart(o PartOptions) *Part {
	p := &Part{o: o, key: os.Getenv(serviceKeyVariable), envoysTime: envoysTime, known: make(chan struct{}),
		failed: make(chan error, 1), all: map[*running]bool{}}
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
		p.free = l.Addr().String()
		p.bound, p.boundAt = l, p.free
	}
	c.ResponsesService.Listen = p.free
	return nil
}

// Bind listens for the service of the configuration with which a program begins, before anything else can take its
// address. It adjusts the configuration.
func (p *Part) Bind(c *config.Config) error {
	if err := p.Adjust(c); err != nil || !p.o.Runs(&c.ResponsesService) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bound != nil {
		return nil
	}
	at := c.ResponsesService.ListenAddress()
	l, err := cli.Listen(at, listenSetting)
	if err == nil {
		p.bound, p.boundAt = l, at
	}
	return err
}

const listenSetting = "responses_service.listen"

// AskAt says where the models are asked if a configuration does not say, and waits for the store, but not long: what
// needs no store is served meanwhile. It returns the error of a store that cannot be used as it is.
func (p *Part) AskAt(ctx context.Context, gateway string) error {
	p.mu.Lock()
	p.gateway = gateway
	close(p.known)
	now := p.now
	p.mu.Unlock()
	if now == nil {
		return nil
	}
	return p.wait(ctx, now)
}

// Check implements [follow.Part].
func (p *Part) Check(ctx context.Context, v *follow.Version) error {
	if !p.o.Runs(&v.Config.ResponsesService) {
		return nil
	}
	if now := p.present(); now != nil {
		if e := config.NextStart(now.version.Config, v.Config, p.o.Program, config.PartService); e != nil {
			return e
		}
	}
	if err := cli.NewTraces(cli.TracedService, p.o.Log).Check(ctx, v); err != nil {
		return err
	}
	if p.key == "" && v.Config.Clients.ByKey() && v.Config.Clients.Required {
		return &config.Error{Field: "clients.required", Reason: serviceKeyVariable + " is not set, and the gateway asks for " +
			"keys (clients.keys_file): run harmony keys new --deputy"}
	}
	_, err := serviceSettings(v.Config, p.askedAt())
	return config.AsError(err)
}

// couldBegin returns why the service of a configuration cannot begin, but for its address and its store.
func (p *Part) couldBegin(ctx context.Context, c *config.Config) error {
	if err := p.Check(ctx, &follow.Version{Config: c}); err != nil {
		return err
	}
	f, err := openAccessLog(c.ResponsesService.AccessLog)
	if f != nil {
		f.Close()
	}
	return err
}

// askedAt returns where the models are asked if a configuration does not say. Before that is known, it is an address at
// which no server listens.
func (p *Part) askedAt() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gateway == "" && p.o.LaterGateway {
		return "http://127.0.0.1:0"
	}
	return p.gateway
}

// present returns the service that runs, or nil.
func (p *Part) present() *running {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Apply implements [follow.Part].
func (p *Part) Apply(ctx context.Context, v *follow.Version) error {
	now := p.present()
	switch runs := p.o.Runs(&v.Config.ResponsesService); {
	case now == nil && runs:
		return p.begin(ctx, v)
	case now != nil && !runs:
		p.leave(now)
	case now != nil:
		return p.settle(ctx, now, v)
	}
	return nil
}

// settle gives a service the settings of a version, and the gateway that is known by now. Nil is the version that it
// has.
func (p *Part) settle(ctx context.Context, r *running, v *follow.Version) error {
	r.settling.Lock()
	defer r.settling.Unlock()
	now := cmp.Or(v, r.version)
	settings, err := serviceSettings(now.Config, p.askedAt())
	if err == nil {
		err = r.traces.Apply(ctx, now)
	}
	if err != nil {
		return config.AsError(err)
	}
	if v != nil {
		r.version = v
	}
	r.service.Apply(settings)
	limitHeap(r.service)
	return nil
}

// begin starts the service, or takes the one back that leaves.
func (p *Part) begin(ctx context.Context, v *follow.Version) error {
	if r := p.comesBack(ctx, v.Config); r != nil {
		err := p.settle(ctx, r, v)
		if err != nil {
			p.leave(r)
		}
		return err
	}
	r, err := p.open(ctx, v)
	if err != nil {
		return config.AsError(err)
	}
	serving, stop := context.WithCancel(context.Background()) // the version's span is none of its requests'
	r.stop, r.awaited = stop, true
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		stop()
		r.close()
		return errors.New("the responses service has ended with its program")
	}
	p.now, p.all[r] = r, true
	p.running.Go(func() { p.serve(serving, r) })
	known := p.knows()
	p.mu.Unlock()
	if !known {
		return nil // AskAt waits for it
	}
	return p.wait(ctx, r)
}

// knows reports whether it is known where the models are asked.
func (p *Part) knows() bool {
	select {
	case <-p.known:
		return true
	default:
		return false
	}
}

// open returns a service that does not serve yet.
func (p *Part) open(ctx context.Context, v *follow.Version) (*running, error) {
	r := &running{traces: cli.NewTraces(cli.TracedService, p.o.Log), version: v, done: make(chan struct{})}
	if err := p.fill(ctx, r, v.Config); err != nil {
		r.close()
		return nil, err
	}
	limitHeap(r.service)
	return r, nil
}

// fill gives a service what it has to have for a configuration. If it fails, the caller closes what it has.
func (p *Part) fill(ctx context.Context, r *running, c *config.Config) (err error) {
	if err = r.traces.Apply(ctx, r.version); err != nil {
		return err
	}
	if r.listener, err = p.listen(c); err != nil {
		return err
	}
	if r.accessLog, err = openAccessLog(c.ResponsesService.AccessLog); err != nil {
		return err
	}
	r.service, err = newService(c, p.askedAt(), p.key, r.traces, r.accessLog, p.o.Log)
	return err
}

// listen returns the service's listener, at the address that Adjust has written or at the configuration's.
func (p *Part) listen(c *config.Config) (*toldListener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, at := p.bound, c.ResponsesService.ListenAddress()
	if l != nil && p.boundAt == at {
		p.bound = nil
	} else {
		var err error
		if l, err = cli.Listen(at, listenSetting); err != nil {
			return nil, &config.Error{Field: listenSetting, Reason: err.Error()}
		}
	}
	return &toldListener{Listener: l, closed: make(chan struct{})}, nil
}

// serve serves until ctx ends, and then waits for what runs.
func (p *Part) serve(ctx context.Context, r *running) {
	defer close(r.done)
	defer r.close()
	var err error
	select {
	case <-p.known:
		if p.o.LaterGateway {
			_ = p.settle(ctx, r, nil) // Check has accepted it
		}
		err = AsUsage(r.service.Serve(ctx, r.listener, p.o.DrainTime))
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := p.now == r
	if wanted {
		p.now = nil
	}
	delete(p.all, r)
	if r.err = err; err == nil || r.awaited {
		return
	}
	p.o.Log.Error("the responses service has ended", "error", err)
	if wanted {
		select {
		case p.failed <- err:
		default:
		}
	}
}

// storePatience is how long the start waits for the store.
const storePatience = 5 * time.Second

// wait waits for the store, and returns the error of a service that cannot use it.
func (p *Part) wait(ctx context.Context, r *running) error {
	patience := time.NewTimer(storePatience) // what needs no store is served meanwhile
	defer patience.Stop()
	select {
	case <-r.service.Reached():
	case <-r.done:
	case <-patience.C:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.awaited = false
	return r.err
}

// envoysTime is how long a service goes on when no version has it any more: Envoys send requests until they have the
// version.
const envoysTime = 5 * time.Second

// leave drains a service that the version does not have any more.
func (p *Part) leave(r *running) {
	p.o.Log.Info("the responses service ends what it runs: the configuration does not have it any more")
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &departure{r}
	p.now, p.leaving = nil, d
	time.AfterFunc(p.envoysTime, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.leaving == d { // else it has come back
			p.leaving = nil
			r.stop()
		}
	})
}

// comesBack returns the service that leaves if it can be the service of a configuration. If it cannot, it ends. Services
// that end do not listen any more when comesBack returns, so that the next one can have their address.
func (p *Part) comesBack(ctx context.Context, c *config.Config) *running {
	p.mu.Lock()
	if d := p.leaving; d != nil {
		p.leaving = nil
		if r := d.service; p.all[r] && config.NextStart(r.version.Config, c, "", config.PartService) == nil {
			p.now = r
			p.mu.Unlock()
			return r
		}
		d.service.stop()
	}
	ending := slices.Collect(maps.Keys(p.all))
	p.mu.Unlock()
	for _, r := range ending {
		select {
		case <-r.listener.closed:
		case <-ctx.Done():
		}
	}
	return nil
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
	p.closed = true
	if p.bound != nil {
		p.bound.Close()
	}
	for r := range p.all {
		r.stop()
	}
	p.mu.Unlock()
	p.running.Wait()
}

// Drain implements [follow.Part].
func (p *Part) Drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.all {
		r.service.Drain()
	}
}

// Cut ends at once what runs.
func (p *Part) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.all {
		r.service.Cut()
	}
}

// Service returns the service that runs, or nil.
func (p *Part) Service() *responses.Service {
	if now := p.present(); now != nil {
		return now.service
	}
	return nil
}

// Address returns where the service that runs listens, or "".
func (p *Part) Address() string {
	if now := p.present(); now != nil {
		return now.listener.Addr().String()
	}
	return ""
}

// Describe implements [prometheus.Collector]. The service's metrics come and go with it.
func (p *Part) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (p *Part) Collect(to chan<- prometheus.Metric) {
	if s := p.Service(); s != nil {
		s.Metrics().Collect(to)
	}
}
