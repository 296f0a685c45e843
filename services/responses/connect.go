package responses

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/spans"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/turn"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// connect serves a connection of the API's WebSocket mode.
func (s *Service) connect(w http.ResponseWriter, r *http.Request) {
	headers := r.Header.Clone()
	c := s.caller(r.Header)
	if !c.Settings.WebSocket {
		r.Pattern = "/"
		s.serve(w, r, unknownURL)
		return
	}
	s.watched(w, r, c, func(w http.ResponseWriter, r *http.Request) {
		failure := checkOrigin(c.Settings, r)
		if failure == nil {
			failure = s.serveSession(w, r, c, headers)
		}
		if failure != nil {
			writeError(w, failure)
		}
	})
}

// serveSession serves a connection until it ends, if there may be another. headers are the request's, as they
// came.
func (s *Service) serveSession(w http.ResponseWriter, r *http.Request, c *input.Caller,
	headers http.Header) *openai.Error {
	switch s.connected.Take(c.Tenant, 1) {
	case quota.Exhausted:
		return refusal.Overloaded("too many connections now")
	case quota.TenantExhausted:
		return refusal.Overloaded("too many connections of yours now")
	}
	defer s.connected.Give(c.Tenant, 1)
	n := &session{service: s, headers: headers, lanes: map[string]*remembered{}}
	defer s.recent.drop(n)
	return s.sockets.Serve(w, r, n)
}

// checkOrigin refuses pages of other hosts. A browser lets any page open a connection, and asks nobody first.
func checkOrigin(s *settings.Snapshot, r *http.Request) *openai.Error {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(s.Origins, origin) || slices.Contains(s.Origins, "*") {
		return nil
	}
	// A gateway replaces the client's host with the service's, and appends the client's to this header.
	host := r.Host
	if forwarded := strings.Join(r.Header["X-Forwarded-Host"], ","); forwarded != "" {
		host = strings.TrimSpace(forwarded[strings.LastIndexByte(forwarded, ',')+1:])
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" && strings.EqualFold(u.Host, host) {
		return nil
	}
	return &openai.Error{Status: http.StatusForbidden, Type: contract.InvalidRequestError,
		Code:    contract.CodeInvalidRequest,
		Message: "Pages of the origin " + refusal.Quote(origin) + " may not open a WebSocket here."}
}

// session is one connection: it makes the responses, and remembers the newest one of each lane that is not stored.
type session struct {
	service *Service
	// headers are from the request that opened the connection, as they came.
	headers http.Header

	// The lock of [recent] guards these.
	lanes map[string]*remembered
	bytes int64
}

// Create implements [socket.Handler].
func (n *session) Create(ctx context.Context, lane string, frame []byte, send func([]byte) error) *openai.Error {
	s := n.service
	c := s.caller(n.headers.Clone())
	o := &observed{began: s.now(), route: frameRoute, id: n.headers.Get("x-request-id"), status: http.StatusOK}
	ctx, span := s.env.Spans.Begin(ctx, frameRoute, trace.SpanKindServer, attribute.String(spans.Route, frameRoute))
	defer func() {
		s.observe(o)
		endRequest(span, o)
	}()
	leave, failure := s.enter(c)
	defer leave()
	if failure == nil {
		failure = checkFrame(c.Settings, frame)
	}
	if failure == nil && c.Share.Take(int64(len(frame))) != nil {
		failure = refusal.Overloaded("no memory for another request now")
	}
	if failure == nil {
		failure = c.PayFor(frame)
	}
	if failure == nil {
		failure = n.create(ctx, c, lane, frame, func(e *upstream.Event) error {
			o.bytes += int64(len(e.Data))
			return send(e.Data)
		})
		o.model = c.Model
	}
	if failure != nil {
		o.status = failure.Status
	}
	return failure
}

// checkFrame refuses a request on a connection that would not be served by the settings of now.
func checkFrame(s *settings.Snapshot, frame []byte) *openai.Error {
	switch {
	case !s.WebSocket:
		return refusal.NoSockets()
	case int64(len(frame)) > s.BodyLimit:
		return refusal.TooLarge(s.BodyLimit)
	}
	return nil
}

// create is Create for a request that there is room for.
func (n *session) create(ctx context.Context, c *input.Caller, lane string, frame []byte,
	send func(*upstream.Event) error) *openai.Error {
	request, failure := input.ParseFrame(frame)
	if failure == nil {
		failure = n.answer(ctx, c, lane, request, send)
	}
	if failure != nil && request != nil && request.Previous != "" {
		// OpenAI's API forgets a response when what continues it on its own lane fails.
		n.service.recent.forget(n, lane, request.Previous)
	}
	return failure
}

// answer makes a response and sends its events.
func (n *session) answer(ctx context.Context, c *input.Caller, lane string, r *input.Request,
	send func(*upstream.Event) error) *openai.Error {
	s := n.service
	t, failure := s.env.New(r, c)
	if failure != nil {
		return failure
	}
	t.Frame()
	past, unlock, failure := n.past(ctx, c, t)
	if failure != nil {
		return failure
	}
	defer unlock()
	if failure := t.ReadInput(ctx, c, past); failure != nil {
		return failure
	}
	save := func(end *turn.Outcome) *openai.Error { return n.remember(lane, t, end) }
	if r.Store {
		st, failure := s.stored()
		if failure != nil {
			return failure
		}
		save = func(end *turn.Outcome) *openai.Error {
			s.recent.forget(n, lane, "")
			return s.store(ctx, st, c, t.Record(end, past))
		}
	}
	if r.Prewarm {
		return t.Prewarm(ctx, send, save)
	}
	return t.Deliver(ctx, send, save)
}

// past returns what a turn continues: what the connection remembers, or what is stored.
func (n *session) past(ctx context.Context, c *input.Caller, t *turn.Turn) (*store.Past, func(), *openai.Error) {
	if t.Request.Previous != "" {
		items, size, found := n.service.recent.find(n, t.Request.Previous)
		if found {
			t.Carry()
			err := c.Within()(size)
			return &store.Past{Items: items}, func() {}, n.service.failure(err, "previous_response_id", nil)
		}
		// Without an answer of the store, a client that carries its conversation itself can go on.
		if _, unavailable := n.service.stored(); unavailable != nil && !t.Request.Store {
			return nil, nil, refusal.PreviousNotFound(t.Request.Previous)
		}
	}
	return n.service.past(ctx, c, t)
}

// remember keeps the conversation for the next request.
func (n *session) remember(lane string, t *turn.Turn, end *turn.Outcome) *openai.Error {
	switch {
	case end.Status != items.Completed && end.Status != items.Incomplete:
		n.service.recent.forget(n, lane, t.Request.Previous)
	default:
		n.service.recent.put(n, lane, t.ID, t.Conversation(end))
	}
	return nil
}
