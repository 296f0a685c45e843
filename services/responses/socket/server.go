package socket

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Handler makes the responses of one connection. Lanes call it at the same time, but none calls it twice at once.
type Handler interface {
	// Create makes the response that a frame of the type response.create asks for. lane is the frame's stream_id, or
	// empty. Create calls send for each event, which is a JSON object. It returns an error if it has sent none. It ends
	// early when ctx ends, because the connection has ended then.
	Create(ctx context.Context, lane string, frame []byte, send func(event []byte) error) *openai.Error
}

// Server serves connections within its limits.
type Server struct {
	terms   atomic.Pointer[Limits]
	pending budget
	log     *slog.Logger
	// draining is closed when no request is taken any more, and drained when no connection is left then.
	draining, drained chan struct{}

	mu   sync.Mutex
	open int
	over bool
	// conns are the connections after their handshake.
	conns map[*websocket.Conn]bool
}

// NewServer returns a server. Limits that are 0 are the defaults.
func NewServer(l Limits, log *slog.Logger) *Server {
	s := &Server{log: log, draining: make(chan struct{}), drained: make(chan struct{}), conns: map[*websocket.Conn]bool{}}
	s.SetLimits(l)
	return s
}

// SetLimits replaces the limits, also for connections that are open.
func (s *Server) SetLimits(l Limits) {
	l = l.OrDefaults()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terms.Store(&l)
	s.pending.limit.Store(l.AllPending)
	for ws := range s.conns {
		ws.SetReadLimit(l.Frame)
	}
}

// keep limits the frames of a connection until forget is called.
func (s *Server) keep(ws *websocket.Conn) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[ws] = true
	ws.SetReadLimit(s.limits().Frame)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, ws)
	}
}

// limits returns the limits that are in force.
func (s *Server) limits() *Limits { return s.terms.Load() }

// Serve answers a request for a connection, and serves the connection until it ends. It returns an error if it has
// answered nothing.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, h Handler) *openai.Error {
	if failure := s.enter(); failure != nil {
		return failure
	}
	defer s.leave()
	answer := &handshake{ResponseWriter: w}
	ws, err := websocket.Accept(answer, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // who may connect is the caller's to decide
		// Compression would let a small frame become a large one, for little: what is sent is mostly short.
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return answer.refusal()
	}
	defer s.keep(ws)()
	newConn(r.Context(), s, ws, answer.conn, h).serve()
	return nil
}

// Open returns the number of connections.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// enter counts a connection, if there may be another.
func (s *Server) enter() *openai.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return errStopping()
	case s.open >= s.limits().Connections:
		return errOverloaded()
	}
	s.open++
	return nil
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.over && s.open == 0 {
		close(s.drained)
	}
}

// Drain ends all connections when the responses that they have asked for have been made. No other is begun. The channel
// that it returns is closed when none is left.
func (s *Server) Drain() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		close(s.draining)
		if s.open == 0 {
			close(s.drained)
		}
	}
	return s.drained
}

// handshake keeps a refusal of the library's from being written, so that it gets the API's form.
type handshake struct {
	http.ResponseWriter
	status  int
	message strings.Builder
	// conn is the connection after the handshake.
	conn net.Conn
}

// WriteHeader implements [http.ResponseWriter].
func (h *handshake) WriteHeader(status int) {
	if h.status = status; status == http.StatusSwitchingProtocols {
		h.ResponseWriter.WriteHeader(status)
	}
}

// Write implements [http.ResponseWriter].
func (h *handshake) Write(p []byte) (int, error) { return h.message.Write(p) }

// Hijack implements [http.Hijacker].
func (h *handshake) Hijack() (conn net.Conn, rw *bufio.ReadWriter, err error) {
	h.conn, rw, err = http.NewResponseController(h.ResponseWriter).Hijack()
	return h.conn, rw, err
}

// refusal returns the error of a request that is not a valid handshake, or nil if the connection was lost in it.
func (h *handshake) refusal() *openai.Error {
	if h.status == http.StatusSwitchingProtocols {
		return nil
	}
	e := &openai.Error{Status: h.status, Type: contract.InvalidRequestError, Code: contract.CodeInvalidRequest,
		Message: strings.TrimSpace(h.message.String())}
	if h.status == http.StatusUpgradeRequired {
		e.Code = contract.CodeWebSocketNotSupported
		e.Message = "This URL takes GET requests for WebSocket only. Send POST " + contract.ResponsesPath + " over HTTP."
	}
	return e
}
