package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// Options are the options of [New].
type Options struct {
	// Plugin and Host configure the filter and its host. The proxy itself sends the callouts and drives the ticks.
	Plugin wasmhost.Plugin
	Host   wasmhost.Options
	// Workers is the number of VMs that share the streams; at least 1.
	Workers int
	// Route chooses routes; see [wasmhost.Router].
	Route    func(request *wasmhost.Headers) *wasmhost.Route
	Clusters []Cluster
	// BufferLimit is how many bytes of a request or response the filter may hold.
	BufferLimit int
	// BufferLimitHTTP2 is the limit for HTTP/2 clients, for which Envoy uses the stream's window; 0 means
	// [Options.BufferLimit].
	BufferLimitHTTP2 int
	// MaxHeaders is how many headers a message may have; 0 means 100, as in Envoy.
	MaxHeaders int
	// IdleTimeout is how long a stream may be without activity; 0 means no limit.
	IdleTimeout time.Duration
	// ConnectTimeout is how long a connection to a server may take; 0 means 5 seconds.
	ConnectTimeout time.Duration
	// Retries is how many other servers are tried when a connection fails.
	Retries int
	// Hold holds the beginnings of answers. Nil holds none.
	Hold *Hold
	// Shape changes the form of local replies.
	Shape func(*wasmhost.LocalReply)
	// RemoveRequestPrefix is the prefix of headers that are removed from clients' requests; an empty prefix removes
	// none.
	RemoveRequestPrefix string
	// NormalizePath resolves dot segments and doubled slashes in paths before anything else reads them.
	NormalizePath bool
	// UnescapeSlashes unescapes slashes and backslashes in paths before that: UNESCAPE_AND_FORWARD.
	UnescapeSlashes bool
	// NoUnderscores refuses requests with an underscore in a header's name: REJECT_REQUEST.
	NoUnderscores bool
	// RequestTimeout is how long a client may take to send a request; 0 means no limit.
	RequestTimeout time.Duration
	// ServerName is the value of the response header server; empty keeps the server's own.
	ServerName string
	// EndWait is how long a piece of an HTTP/2 body waits to see whether the body ends with it, as Envoy knows at once.
	// 0 sends every end separately.
	EndWait time.Duration
	// ForwardedFor adds the client's address to x-forwarded-for: use_remote_address.
	ForwardedFor bool
	// KeepRequestID keeps a client's x-request-id: preserve_external_request_id.
	KeepRequestID bool
	// SetRequestIDInResponse sets x-request-id on every response: always_set_request_id_in_response.
	SetRequestIDInResponse bool
	// Cut splits servers' responses before the filter sees them; nil leaves the pieces as they arrive.
	Cut *Cut
	// StreamDone is called for every stream that has ended.
	StreamDone func(*wasmhost.Stream)
}

const (
	defaultMaxHeaders     = 100
	defaultConnectTimeout = 5 * time.Second
)

// Proxy is an [http.Handler]. Close it after its server has stopped.
type Proxy struct {
	options  Options
	host     *wasmhost.Host
	clusters map[string]*cluster
	closed   chan struct{}
	close    sync.Once
	// cut is closed when the upgraded connections are to be cut.
	cut     chan struct{}
	cutting sync.Once
	// inflight counts the requests, running the other goroutines.
	inflight, running sync.WaitGroup

	// configuring is held while the workers are replaced.
	configuring sync.Mutex
	mu          sync.Mutex // guards workers, and the beginning of their streams
	workers     []*worker
	// leaving are workers with an earlier configuration that still have streams.
	leaving []*worker
}

// worker is a VM and the number of its streams.
type worker struct {
	*wasmhost.Worker
	streams atomic.Int64
	// kick wakes the ticker when the time of the next tick has changed.
	kick chan struct{}
	// left reports whether the worker gets no more streams. The proxy's lock guards it. ended is closed when it has ended.
	left  bool
	ended chan struct{}
}

// New compiles the filter and starts its workers.
func New(wasm []byte, o Options) (*Proxy, error) {
	if o.Workers < 1 {
		return nil, fmt.Errorf("proxy: %d workers; there must be one", o.Workers)
	}
	if o.Route == nil {
		return nil, errors.New("proxy: no routes")
	}
	o.MaxHeaders = cmp.Or(o.MaxHeaders, defaultMaxHeaders)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, defaultConnectTimeout)
	p := &Proxy{options: o, clusters: map[string]*cluster{}, closed: make(chan struct{}), cut: make(chan struct{})}
	for _, c := range o.Clusters {
		p.clusters[c.Name] = newCluster(c, o.ConnectTimeout, o.Retries)
	}
	o.Host.Caller = caller{p}
	o.Host.Ticking = p.kick
	host, err := wasmhost.New(wasm, o.Plugin, o.Host)
	if err != nil {
		return nil, err
	}
	p.host = host
	if p.workers, err = p.start(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Configure gives the filter another configuration ([wasmhost.Plugin.Configuration]), without a restart: new workers
// get the streams that begin from now on. The present ones end with their last streams. If the filter refuses the
// configuration, Configure returns an error, and everything stays as it is.
func (p *Proxy) Configure(text []byte) error {
	p.configuring.Lock()
	defer p.configuring.Unlock()
	before := p.host.Configuration()
	p.host.SetConfiguration(text)
	fresh, err := p.start()
	if err != nil {
		p.host.SetConfiguration(before)
		return err
	}
	p.mu.Lock()
	old, idle := p.workers, []*worker(nil)
	p.workers = fresh
	for _, w := range old {
		if w.left = true; w.streams.Load() == 0 {
			idle = append(idle, w)
		} else {
			p.leaving = append(p.leaving, w)
		}
	}
	p.mu.Unlock()
	for _, w := range idle {
		p.end(w)
	}
	return nil
}

// end ends a worker that gets no more streams and has none.
func (p *Proxy) end(w *worker) {
	p.mu.Lock()
	p.leaving = slices.DeleteFunc(p.leaving, func(one *worker) bool { return one == w })
	p.mu.Unlock()
	close(w.ended)
	w.Close()
}

// start starts as many workers as there are to be. Without an error all of them run.
func (p *Proxy) start() ([]*worker, error) {
	var all []*worker
	for range p.options.Workers {
		vm, err := p.host.NewWorker()
		if err != nil {
			for _, w := range all {
				p.end(w)
			}
			return nil, err
		}
		w := &worker{Worker: vm, kick: make(chan struct{}, 1), ended: make(chan struct{})}
		all = append(all, w)
		p.running.Go(func() { p.tick(w) })
	}
	return all, nil
}

// Close waits until all requests have ended, then stops the workers. It does not end the requests; the caller must do
// that first.
func (p *Proxy) Close() {
	p.close.Do(func() {
		p.inflight.Wait()
		close(p.closed)
		p.host.Close()
		p.running.Wait()
		for _, c := range p.clusters {
			c.close()
		}
	})
}

// CutUpgraded ends all connections that speak another protocol by now. [http.Server] does not know of them any more.
func (p *Proxy) CutUpgraded() { p.cutting.Do(func() { close(p.cut) }) }

// Count adds 1 to one of the filter's counters: see [wasmhost.Host.Count].
func (p *Proxy) Count(name string) { p.host.Count(name) }

// Metrics returns the filter's metrics by name: see [wasmhost.Host.Metrics].
func (p *Proxy) Metrics() map[string]uint64 { return p.host.Metrics() }

// ReadMetrics returns the filter's metrics with the buckets of histograms: see [wasmhost.Host.ReadMetrics].
func (p *Proxy) ReadMetrics() []wasmhost.Metric { return p.host.ReadMetrics() }

// Stats returns the counts of each worker.
func (p *Proxy) Stats() []wasmhost.Stats {
	all := p.present()
	out := make([]wasmhost.Stats, len(all))
	for i, w := range all {
		out[i] = w.Stats()
	}
	return out
}

// present returns the workers that get streams.
func (p *Proxy) present() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers
}

// all returns all workers that may have streams.
func (p *Proxy) all() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Concat(p.workers, p.leaving)
}

// Streams returns the number of requests under way.
func (p *Proxy) Streams() int {
	n := 0
	for _, w := range p.all() {
		n += int(w.streams.Load())
	}
	return n
}

// HasCluster implements [wasmhost.Router].
func (p *Proxy) HasCluster(name string) bool { return p.clusters[name] != nil }

// Route implements [wasmhost.Router].
func (p *Proxy) Route(request *wasmhost.Headers) *wasmhost.Route { return p.options.Route(request) }

// finalize adds the headers that every response gets. id is the request's x-request-id.
func (p *Proxy) finalize(h *wasmhost.Headers, id string) {
	if p.options.SetRequestIDInResponse {
		h.Set(requestIDHeader, id)
	}
	if _, ok := h.Lookup("date"); !ok {
		h.Set("date", p.now().UTC().Format(http.TimeFormat))
	}
	if p.options.ServerName != "" {
		h.Set("server", p.options.ServerName)
	}
}

func (p *Proxy) now() time.Time {
	if p.options.Host.Now != nil {
		return p.options.Host.Now()
	}
	return time.Now()
}

// kick wakes the ticker of a worker whose next tick has moved. While the workers start they are not in the list yet;
// each ticker then reads the time of its first tick itself.
func (p *Proxy) kick(of *wasmhost.Worker) {
	all := p.all()
	at := slices.IndexFunc(all, func(w *worker) bool { return w.Worker == of })
	if at < 0 {
		return
	}
	select {
	case all[at].kick <- struct{}{}:
	default:
	}
}

// tick calls a worker's ticks when they are due.
func (p *Proxy) tick(w *worker) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-p.closed:
			return
		case <-w.ended:
			return
		case <-w.kick:
		case <-timer.C:
			w.Tick()
		}
		if next, ok := w.NextTick(); ok {
			timer.Reset(max(time.Until(next), 0))
		} else {
			timer.Stop()
		}
	}
}

// TakeOut makes the servers of a cluster for which out reports true get no new requests, unless it does so for all of
// them. The others get requests again. address is an [Endpoint]'s.
func (p *Proxy) TakeOut(cluster string, out func(address string) bool) {
	if c := p.clusters[cluster]; c != nil {
		for _, e := range c.endpoints {
			e.out.Store(out(e.Address))
		}
	}
}

// begin begins a stream at the worker with the fewest streams.
func (p *Proxy) begin() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := slices.MinFunc(p.workers, func(a, b *worker) int { return cmp.Compare(a.streams.Load(), b.streams.Load()) })
	w.streams.Add(1)
	return w
}

// finish ends a stream of a worker, and the worker if that was the last one of a worker that has left.
func (p *Proxy) finish(w *worker) {
	p.mu.Lock()
	last := w.streams.Add(-1) == 0 && w.left
	p.mu.Unlock()
	if last {
		p.end(w)
	}
}

var _ http.Handler = (*Proxy)(nil)
