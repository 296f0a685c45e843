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

// Options is what a [Proxy] is made of.
type Options struct {
	// Plugin and Host are the filter's configuration and what its host works with. The proxy performs the callouts and
	// drives the ticks itself.
	Plugin wasmhost.Plugin
	Host   wasmhost.Options
	// Workers is the number of VMs; streams are spread over them. At least 1.
	Workers int
	// Route chooses routes.
	Route    func(request *wasmhost.Headers) *wasmhost.Route
	Clusters []Cluster
	// BufferLimit is how much of a request or response the filter may hold, in bytes.
	BufferLimit int
	// BufferLimitHTTP2 is the same for HTTP/2 clients, where it is the stream's window; 0 is [Options.BufferLimit].
	BufferLimitHTTP2 int
	// MaxHeaders is how many headers a message may have; 0 is Envoy's 100.
	MaxHeaders int
	// IdleTimeout gives a stream up on which nothing happens for so long; 0 never.
	IdleTimeout time.Duration
	// ConnectTimeout is how long a server may take to accept a connection; 0 is 5 seconds.
	ConnectTimeout time.Duration
	// Retries is how many other servers are tried when no connection comes about.
	Retries int
	// Shape puts local replies into another form.
	Shape func(*wasmhost.LocalReply)
	// RemoveRequestPrefix are headers that no client may send, by their prefix; empty removes none.
	RemoveRequestPrefix string
	// NormalizePath takes dot segments and doubled slashes out of paths before anything looks at them.
	NormalizePath bool
	// UnescapeSlashes makes escaped slashes and backslashes of paths plain ones before: UNESCAPE_AND_FORWARD.
	UnescapeSlashes bool
	// NoUnderscores refuses requests with an underscore in the name of a header: REJECT_REQUEST.
	NoUnderscores bool
	// RequestTimeout is how long a client may take to send a request; 0 is as long as it likes.
	RequestTimeout time.Duration
	// ServerName is the response header server; empty leaves the servers' own.
	ServerName string
	// EndWait is how long a piece of an HTTP/2 body waits whether the body ends with it, which Envoy tells at once; 0
	// tells every end by itself.
	EndWait time.Duration
	// ForwardedFor adds the client's address to x-forwarded-for: use_remote_address.
	ForwardedFor bool
	// KeepRequestID takes a client's x-request-id for the request's: preserve_external_request_id.
	KeepRequestID bool
	// TellRequestID sets it on every response: always_set_request_id_in_response.
	TellRequestID bool
	// Cut splits what servers send before the filter sees it; nil leaves the pieces as they come.
	Cut *Cut
	// StreamDone is told of every stream that has ended.
	StreamDone func(*wasmhost.Stream)
}

const (
	defaultMaxHeaders     = 100
	defaultConnectTimeout = 5 * time.Second
)

// Proxy is an http.Handler. Close it when its server has stopped.
type Proxy struct {
	options  Options
	host     *wasmhost.Host
	clusters map[string]*cluster
	closed   chan struct{}
	close    sync.Once
	// inflight are the requests, running what else goes on.
	inflight, running sync.WaitGroup

	mu      sync.Mutex // guards workers while they are being started
	workers []*worker
}

// worker is a VM and how busy it is.
type worker struct {
	*wasmhost.Worker
	streams atomic.Int64
	// kick wakes the ticker: the time of the next tick has changed.
	kick chan struct{}
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
	p := &Proxy{options: o, clusters: map[string]*cluster{}, closed: make(chan struct{})}
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
	for range o.Workers {
		vm, err := host.NewWorker()
		if err != nil {
			p.Close()
			return nil, err
		}
		w := &worker{Worker: vm, kick: make(chan struct{}, 1)}
		p.mu.Lock()
		p.workers = append(p.workers, w)
		p.mu.Unlock()
		p.running.Go(func() { p.tick(w) })
	}
	return p, nil
}

// Close waits for the requests, which somebody else must have told to end, and stops the workers.
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

// Metrics are the filter's, by name.
func (p *Proxy) Metrics() map[string]uint64 { return p.host.Metrics() }

// Stats are the workers' counts.
func (p *Proxy) Stats() []wasmhost.Stats {
	out := make([]wasmhost.Stats, len(p.workers))
	for i, w := range p.workers {
		out[i] = w.Stats()
	}
	return out
}

// Streams is how many requests run.
func (p *Proxy) Streams() int {
	n := 0
	for _, w := range p.workers {
		n += int(w.streams.Load())
	}
	return n
}

// HasCluster implements [wasmhost.Router].
func (p *Proxy) HasCluster(name string) bool { return p.clusters[name] != nil }

// Route implements [wasmhost.Router].
func (p *Proxy) Route(request *wasmhost.Headers) *wasmhost.Route { return p.options.Route(request) }

// finalize adds what the proxy adds to every response to a request of this id.
func (p *Proxy) finalize(h *wasmhost.Headers, id string) {
	if p.options.TellRequestID {
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

// kick is called for a worker whose next tick is at another time than it was. While the workers are being started
// theirs is not known yet, and each looks for itself then.
func (p *Proxy) kick(of *wasmhost.Worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.workers, func(w *worker) bool { return w.Worker == of })
	if at < 0 {
		return
	}
	select {
	case p.workers[at].kick <- struct{}{}:
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

// pick is the worker with the fewest streams.
func (p *Proxy) pick() *worker {
	return slices.MinFunc(p.workers, func(a, b *worker) int { return cmp.Compare(a.streams.Load(), b.streams.Load()) })
}

var _ http.Handler = (*Proxy)(nil)
