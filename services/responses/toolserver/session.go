package toolserver

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"

	"github.com/harmonyedge/harmonyedge/internal/version"
)

// What took too long.
const (
	whatConnecting = "connecting to the server"
	whatCall       = "the server's answer"
)

// session is a connection to a server in the sense of MCP: one handshake, with the credentials of one tenant.
type session struct {
	pool   *Pool
	server *Server
	tenant string
	key    key
	terms  *Terms

	// ctx ends when all requests are to be aborted, work when the requests of callers are.
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   context.Context
	stop   context.CancelCauseFunc
	slots  chan struct{}

	// ready is closed when the handshake is over. Then client or err is set.
	ready  chan struct{}
	client *mcp.ClientSession
	err    error
	http   *http.Client
	since  time.Time

	// version is the revision of MCP, and stream what the server sends for the whole session; both may be nil.
	version atomic.Pointer[string]
	stream  atomic.Pointer[stream]
	// asked reports whether a tool has been called. heard is when the last message came.
	asked atomic.Bool
	heard atomic.Int64

	mu    sync.Mutex
	wrong error

	// The next fields are the pool's, under its lock.
	users int
	used  time.Time
	idle  *time.Timer
}

func newSession(p *Pool, server *Server, tenant string, k key) *session {
	s := &session{pool: p, server: server.clone(), tenant: tenant, key: k, terms: p.terms.Load(), ready: make(chan struct{}),
		since: time.Now(),
		slots: make(chan struct{}, p.limits.SessionCalls)}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.work, s.stop = context.WithCancelCause(s.ctx)
	return s
}

// setFault writes down what ended the session, unless something else did before, and returns it.
func (s *session) setFault(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong == nil {
		s.wrong = err
	}
	return err
}

func (s *session) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong
}

// open connects, and watches the session until it ends.
func (s *session) open() {
	limit := &TimeoutError{After: s.pool.limits.Connect, What: whatConnecting}
	timer := time.AfterFunc(limit.After, func() { s.cancel(limit) })
	s.client, s.err = s.connect()
	if !timer.Stop() && s.err == nil {
		s.err = limit
	}
	if s.err != nil {
		s.pool.log.Debug("a tool server cannot be used", "server", s.server.Label, "error", s.err)
		s.pool.drop(s)
		close(s.ready)
		return
	}
	close(s.ready)
	_ = s.client.Wait() // the calls say what happened
	s.pool.drop(s)
}

// close ends the session: calls at once, then the server's side of it, then everything.
func (s *session) close(why error) {
	s.stop(why)
	limit := time.AfterFunc(closeTime, func() { s.cancel(why) })
	select {
	case <-s.ready:
	default:
		s.cancel(why)
		<-s.ready
	}
	if s.client != nil {
		_ = s.client.Close()
	}
	limit.Stop()
	s.cancel(why)
	if s.http != nil {
		s.http.CloseIdleConnections()
	}
	if stream := s.stream.Load(); stream != nil {
		_ = stream.Close() // which ends the process, if the SDK has not
	}
}

// do sends a request by f, when one of the session's slots is free, and returns the result as the server wrote it. The
// exchange is closed by the caller, who then no longer uses the result.
func (s *session) do(ctx context.Context, x *exchange, f func(context.Context) error) ([]byte, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, s.explain(ctx, x)
	}
	if stream := s.stream.Load(); stream != nil && len(s.slots) == 1 {
		stream.rest()
	}
	began := time.Now().UnixNano()
	traced := trace.ContextWithSpanContext(s.work, trace.SpanContextFromContext(ctx))
	inner, cancel := context.WithCancelCause(withExchange(traced, x))
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	err := f(inner)
	answer, _ := x.outcome()
	if answer != nil { // even if the SDK does not like it
		time.AfterFunc(drainTime, func() { cancel(nil) })
		return answer, nil
	}
	cancel(nil)
	if err == nil {
		return nil, &ProtocolError{Message: "the server's answer has no result"}
	}
	err = s.explain(ctx, x)
	var limit *TimeoutError
	if s.stream.Load() != nil && errors.As(err, &limit) && s.heard.Load() < began {
		s.pool.drop(s) // nothing at all has come: it hangs
	}
	return nil, err
}

// options are for all sessions. The client has no capability: no roots, no sampling, no elicitation.
func (s *session) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}}
}

var implementation = sync.OnceValue(func() *mcp.Implementation {
	return &mcp.Implementation{Name: "harmony-edge", Version: version.Current().Version}
})
