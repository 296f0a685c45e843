package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost/proxy"
)

// Options are the settings of a [Server] that are not in the resources.
type Options struct {
	// Workers is the number of VMs. 0 means one for each CPU.
	Workers int
	// CacheDir is the folder in which the compiled filter is kept for the next start. If it is empty, the filter is
	// compiled at each start.
	CacheDir string
	// Environment has variables that the filter gets besides those that the resources name. They win. It may be nil.
	Environment map[string]string
	// Log receives the log lines of the filter and of the host. It may be nil.
	Log func(wasmhost.Level, string)
	// Cut splits what servers send before the filter sees it. Tests use it.
	Cut *proxy.Cut
	// EndWait is the same as in [proxy.Options].
	EndWait time.Duration
	// StreamDone is called with every stream that has ended. It may be nil.
	StreamDone func(*wasmhost.Stream)
	// Violation is called when the filter does something that would crash Envoy. It may be nil.
	Violation func(string)
	// IgnoresHeldHeaders is the same as in [wasmhost.Plugin].
	IgnoresHeldHeaders bool
}

// Server serves one listener.
type Server struct {
	proxy    *proxy.Proxy
	http     *http.Server
	listener *limitListener
	// statistics names the metrics. accessLog may be nil.
	statistics *statistics
	accessLog  *accessLog
	done       chan struct{}
	err        error
}

// Start compiles the filter, starts its VMs and listens. The resources come from [xds.Build]: one listener with one
// wasm filter and its routes. It returns an error for resources that are not supported here, and for an address that
// cannot be bound.
func Start(r *xds.Resources, o Options) (*Server, error) {
	l, err := readListener(r)
	if err != nil {
		return nil, fmt.Errorf("inprocess: %w", err)
	}
	l.options.Clusters, err = readClusters(r)
	if err != nil {
		return nil, fmt.Errorf("inprocess: %w", err)
	}
	maxConnections, err := readConnectionLimit(r)
	if err != nil {
		return nil, fmt.Errorf("inprocess: %w", err)
	}
	wasm, err := os.ReadFile(l.module)
	if err != nil {
		return nil, fmt.Errorf("inprocess: the filter: %w", err)
	}
	stats, err := readStats(xds.Stats(), l.statPrefix, l.options.Plugin.Name)
	if err != nil {
		return nil, fmt.Errorf("inprocess: %w", err)
	}
	p := l.proxyOptions(&o, stats)
	// The port is bound first, so that an error about it comes before the slow steps.
	tcp, err := net.Listen("tcp", l.address)
	if err != nil {
		return nil, err
	}
	listener := &limitListener{TCPListener: tcp.(*net.TCPListener), max: maxConnections}
	s := &Server{listener: listener, done: make(chan struct{}), statistics: stats}
	if s.accessLog, err = l.log.open(o.Log); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p.StreamDone = func(stream *wasmhost.Stream) {
		s.accessLog.add(stream)
		if o.StreamDone != nil {
			o.StreamDone(stream)
		}
	}
	p.Hold = newHold(&failures{log: o.Log, count: func(metric string) { s.proxy.Count(metric) }})
	if s.proxy, err = proxy.New(wasm, p); err != nil {
		s.accessLog.close()
		return nil, errors.Join(fmt.Errorf("%s: %w", l.module, err), listener.Close())
	}
	s.serve(l)
	return s, nil
}

// proxyOptions returns the options of the proxy, by the listener's resources and the caller's wishes.
func (l *listener) proxyOptions(o *Options, stats *statistics) proxy.Options {
	p := l.options
	if len(o.Environment) > 0 {
		environment := map[string]string{}
		maps.Copy(environment, p.Plugin.Environment)
		maps.Copy(environment, o.Environment)
		p.Plugin.Environment = environment
	}
	p.Workers = o.Workers
	if p.Workers == 0 {
		p.Workers = runtime.GOMAXPROCS(0)
	}
	p.Host = wasmhost.Options{CacheDir: o.CacheDir, Log: o.Log, Violation: o.Violation, Node: "harmony",
		Buckets: stats.bounds}
	p.EndWait = o.EndWait
	p.Cut, p.Plugin.IgnoresHeldHeaders = o.Cut, o.IgnoresHeldHeaders
	return p
}

// serve serves HTTP on the listener, until the server is closed.
func (s *Server) serve(l *listener) {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.http = &http.Server{
		Handler: s.proxy, Protocols: protocols, MaxHeaderBytes: maxHeaderBytes, ReadHeaderTimeout: l.headersTimeout,
		IdleTimeout: l.clientIdle, DisableGeneralOptionsHandler: true,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: l.maxStreams, MaxReceiveBufferPerStream: l.streamWindow,
			MaxReceiveBufferPerConnection: l.connectionWindow},
		// net/http logs only errors of single connections, such as those without HTTP.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	}()
}

// maxHeaderBytes is the default of Envoy's max_request_headers_kb, in bytes.
const maxHeaderBytes = 60 << 10

// Address returns the address for clients, as host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Done returns a channel that is closed when the server does not serve any more.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why the server ended by itself, or nil if it did not.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Configure gives the filter the configuration in other resources ([proxy.Proxy.Configure]). Everything else stays as
// it is.
func (s *Server) Configure(r *xds.Resources) error {
	l, err := readListener(r)
	if err != nil {
		return fmt.Errorf("inprocess: %w", err)
	}
	return s.proxy.Configure(l.options.Plugin.Configuration)
}

// Proxy returns the proxy of the listener, for its counts.
func (s *Server) Proxy() *proxy.Proxy { return s.proxy }

// Drain stops accepting clients and returns at once. Running requests go on, and each connection is closed after its
// response. [Server.Stop] must follow.
func (s *Server) Drain() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.http.Shutdown(ctx) // its only error is that it does not wait
}

// Cut closes the connections of all running requests. [Server.Stop] must follow.
func (s *Server) Cut() {
	_ = s.http.Close() // an error makes no difference to the connections
	s.proxy.CutUpgraded()
}

// drainLimit is how long running requests may take to end when the server is stopped.
const drainLimit = time.Second

// Stop ends the server. Running requests have a second to finish and are then cut.
func (s *Server) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // it cuts the rest; an error makes no difference
	}
	s.proxy.CutUpgraded()
	<-s.done
	s.proxy.Close()
	s.accessLog.close()
}
