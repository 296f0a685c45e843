package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost/proxy"
)

// Options is what the resources do not say.
type Options struct {
	// Workers is the number of VMs; 0 is one per CPU.
	Workers int
	// CacheDir keeps the compiled filter from one start to the next. Empty: it is compiled each time.
	CacheDir string
	// Log gets what the filter and the host have to say. Nil: nothing.
	Log func(wasmhost.Level, string)
	// Cut splits what servers send before the filter sees it.
	Cut *proxy.Cut
	// EndWait is proxy.Options'.
	EndWait time.Duration
	// StreamDone is told of every stream that has ended.
	StreamDone func(*wasmhost.Stream)
	// Violation is told of acts that Envoy does not survive.
	Violation func(string)
	// IgnoresHeldHeaders is wasmhost.Plugin's.
	IgnoresHeldHeaders bool
}

// Server is a listener that is being served.
type Server struct {
	proxy    *proxy.Proxy
	http     *http.Server
	listener *limited
	served   chan struct{}
	err      error
}

// Start compiles the filter, starts its VMs and listens. The resources are those of controlplane/xds: one listener
// with one wasm filter and its routes.
func Start(r *xds.Resources, o Options) (*Server, error) {
	l, err := readListener(r)
	if err != nil {
		return nil, fmt.Errorf("inprocess: %w", err)
	}
	l.options.Clusters, err = readClusters(r)
	if err != nil {
		return nil, fmt.Errorf("inprocess: %w", err)
	}
	most, err := readConnectionLimit(r)
	if err != nil {
		return nil, fmt.Errorf("inprocess: %w", err)
	}
	wasm, err := os.ReadFile(l.module)
	if err != nil {
		return nil, fmt.Errorf("inprocess: the filter: %w", err)
	}
	p := l.options
	p.Workers = o.Workers
	if p.Workers == 0 {
		p.Workers = runtime.GOMAXPROCS(0)
	}
	p.Host = wasmhost.Options{CacheDir: o.CacheDir, Log: o.Log, Violation: o.Violation, Node: "harmony"}
	p.EndWait = o.EndWait
	p.Cut, p.StreamDone, p.Plugin.IgnoresHeldHeaders = o.Cut, o.StreamDone, o.IgnoresHeldHeaders
	// The port first: whoever cannot have it need not wait for anything else.
	tcp, err := net.Listen("tcp", l.address)
	if err != nil {
		return nil, err
	}
	listener := &limited{TCPListener: tcp.(*net.TCPListener), most: most}
	s := &Server{listener: listener, served: make(chan struct{})}
	if s.proxy, err = proxy.New(wasm, p); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", l.module, err), listener.Close())
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.http = &http.Server{
		Handler: s.proxy, Protocols: protocols, MaxHeaderBytes: maxHeaderBytes, ReadHeaderTimeout: l.headersTimeout,
		IdleTimeout: l.clientIdle, DisableGeneralOptionsHandler: true,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: l.maxStreams, MaxReceiveBufferPerStream: l.streamWindow, MaxReceiveBufferPerConnection: l.connectionWindow},
		// What net/http logs concerns single connections, such as those that speak no HTTP.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(s.served)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	}()
	return s, nil
}

// maxHeaderBytes is Envoy's max_request_headers_kb.
const maxHeaderBytes = 60 << 10

// Address is where clients connect, as host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Done is closed when the server does not serve any more.
func (s *Server) Done() <-chan struct{} { return s.served }

// Err is why the server ended by itself, nil if it did not.
func (s *Server) Err() error {
	select {
	case <-s.served:
		return s.err
	default:
		return nil
	}
}

// Proxy is the proxy behind the listener, for its counts.
func (s *Server) Proxy() *proxy.Proxy { return s.proxy }

// Drain takes no new clients from now on, and returns at once. Requests that run go on; connections are closed behind
// their response. Stop has to follow.
func (s *Server) Drain() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.http.Shutdown(ctx) // that it does not wait is what it would complain of
}

// Cut ends the connections of all requests that run. Stop has to follow.
func (s *Server) Cut() { _ = s.http.Close() } // they end one way or the other

// drainLimit is how long requests may take to end when the server is stopped.
const drainLimit = time.Second

// Stop ends the server: requests under way get a moment to finish, then they are cut.
func (s *Server) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // what is left is cut, which cannot fail in a way that matters
	}
	<-s.served
	s.proxy.Close()
}
