package toolserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/harmonyedge/harmonyedge/services/responses/egress"
)

// handshakeVersion is the last revision of MCP with a handshake. A server that knows a later one says so when it is
// asked; to ask costs the others a request that fails.
const handshakeVersion = "2025-11-25"

// manners are how a server wants to be talked to, as its last session has found out.
type manners struct {
	transport Transport
	// version is empty for a server that knows a revision without a handshake.
	version string
	until   time.Time
}

// connect does the handshake, by the transports that the server may have.
func (s *session) connect() (*mcp.ClientSession, error) {
	known := s.pool.manners(s.server)
	transports := s.server.transports()
	if slices.Contains(transports, known.transport) {
		transports = []Transport{known.transport}
	}
	var first error
	for i, t := range transports {
		x := &exchange{session: s, limit: s.pool.limits.Message, what: bytesOfAnswer}
		client, err := s.handshake(t, known.version, x)
		x.close()
		if err == nil {
			s.learn(t, client)
			return client, nil
		}
		if first == nil || !isAnswer(err) {
			first = err
		}
		if i == len(transports)-1 || !x.isOtherTransport() {
			break
		}
	}
	var limit *TimeoutError
	if known.version == "" && errors.As(first, &limit) {
		// Some servers do not answer what they do not know. The next session asks for the handshake at once.
		s.pool.learn(s.server, manners{transport: known.transport, version: handshakeVersion,
			until: time.Now().Add(mannersLife)})
	} else {
		s.pool.forget(s.server)
	}
	return nil, first
}

// isAnswer reports whether an error is one that a server answers to whoever talks to it by the wrong transport.
func isAnswer(err error) bool {
	var h *HTTPError
	var p *ProtocolError
	return errors.As(err, &h) || errors.As(err, &p)
}

// isOtherTransport reports whether the server has answered as one that has only the older transport over HTTP.
func (x *exchange) isOtherTransport() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch x.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusUnsupportedMediaType, http.StatusNotImplemented:
		return true
	}
	return false
}

// handshake connects by one transport.
func (s *session) handshake(t Transport, revision string, x *exchange) (*mcp.ClientSession, error) {
	if t == SSE {
		revision = handshakeVersion
	}
	s.version.Store(nil)
	client := mcp.NewClient(implementation(), s.options())
	client.AddReceivingMiddleware(s.refuse)
	c, err := client.Connect(withExchange(s.ctx, x), &watched{s.transport(t), s, t},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return nil, s.explainHandshake(x, err)
	}
	s.version.Store(&c.InitializeResult().ProtocolVersion)
	return c, nil
}

func (s *session) explainHandshake(x *exchange, err error) error {
	var start *startError
	if errors.As(err, &start) {
		return &ConnectionError{start.Error()}
	}
	if answer, _ := x.outcome(); answer != nil {
		return &ProtocolError{Message: "the server's handshake is not one of MCP"}
	}
	return s.explain(s.ctx, x)
}

// transport returns the SDK's transport.
func (s *session) transport(t Transport) mcp.Transport {
	if t == Stdio {
		return &command{session: s}
	}
	limits := &s.pool.limits
	if s.http == nil {
		s.http = s.terms.Guard.Client(egress.Options{Private: s.server.Private, Connect: limits.Connect, TLS: limits.Connect,
			Header: s.terms.Call, Connections: limits.SessionCalls + maxAside})
	}
	client := &http.Client{Transport: newWire(s, t, s.http.Transport), CheckRedirect: s.http.CheckRedirect}
	if t == SSE {
		// The limits of stream are those that clients are told.
		return &mcp.SSEClientTransport{Endpoint: s.server.URL, HTTPClient: client, MaxEventSize: int(2 * limits.Message)}
	}
	return &mcp.StreamableClientTransport{Endpoint: s.server.URL, HTTPClient: client, MaxRetries: -1,
		DisableStandaloneSSE: true, MaxEventSize: int(2 * limits.Message)}
}

// learn remembers what the handshake has found out.
func (s *session) learn(t Transport, c *mcp.ClientSession) {
	m := manners{transport: t, until: time.Now().Add(mannersLife)}
	if c.InitializeResult().ProtocolVersion < statelessVersion {
		m.version = handshakeVersion
	}
	s.pool.learn(s.server, m)
}

// refuse answers what a server asks. A ping is answered; what would take a user, a model or files is refused.
func (s *session) refuse(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		switch method {
		case methodPing:
			return next(ctx, method, r)
		case listChanged:
			s.pool.relist(s.key)
			return nil, nil
		case "roots/list", "sampling/createMessage", "elicitation/create":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this client has no " + method}
		}
		return nil, nil // notifications
	}
}
