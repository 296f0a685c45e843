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
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// connect serves a connection of the API's WebSocket mode.
func (s *Service) connect(w http.ResponseWriter, r *http.Request) {
	headers := r.Header.Clone()
	c := s.caller(r.Header)
	if !c.settings.WebSocket {
		r.Pattern = "/"
		s.serve(w, r, unknownURL)
		return
	}
	s.watched(w, r, c, func(w http.ResponseWriter, r *http.Request) {
		failure := checkOrigin(c.settings, r)
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
func (s *Service) serveSession(w http.ResponseWriter, r *http.Request, c *caller, headers http.Header) *openai.Error {
	switch s.connected.Take(c.tenant, 1) {
	case quota.Exhausted:
		return refusal.Overloaded("too many connections now")
	case quota.TenantExhausted:
		return refusal.Overloaded("too many connections of yours now")
	}
	defer s.connected.Give(c.tenant, 1)
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
	ctx, span := s.span(ctx, frameRoute, trace.SpanKindServer, attribute.String(spanRoute, frameRoute))
	defer func() {
		s.observe(o)
		endRequest(span, o)
	}()
	leave, failure := s.enter(c)
	defer leave()
	if failure == nil {
		failure = checkFrame(c.settings, frame)
	}
	if failure == nil && c.share.Take(int64(len(frame))) != nil {
		failure = refusal.Overloaded("no memory for another request now")
	}
	if failure == nil {
		failure = payFor(c.share, frame)
	}
	if failure == nil {
		failure = n.create(ctx, c, lane, frame, func(e *upstream.Event) error {
			o.bytes += int64(len(e.Data))
			return send(e.Data)
		})
		o.model = c.model
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
func (n *session) create(ctx context.Context, c *caller, lane string, frame []byte,
	send func(*upstream.Event) error) *openai.Error {
	request, failure := parseFrame(frame)
	if failure == nil {
		failure = n.answer(ctx, c, lane, request, send)
	}
	if failure != nil && request != nil && request.previous != "" {
		// OpenAI's API forgets a response when what continues it on its own lane fails.
		n.service.recent.forget(n, lane, request.previous)
	}
	return failure
}

// parseFrame reads a frame as the body of a request.
func parseFrame(frame []byte) (*request, *openai.Error) {
	r, failure := parseFields(frame)
	if failure != nil {
		return nil, failure
	}
	for _, name := range []string{"type", "stream_id", "stream", "background"} { // they have no meaning within a frame
		delete(r.fields, name)
	}
	generate := true
	if failure := r.take("generate", "a boolean", &generate); failure != nil {
		return nil, failure
	}
	r.stream, r.prewarm = true, !generate
	return r, r.read()
}

// answer makes a response and sends its events.
func (n *session) answer(ctx context.Context, c *caller, lane string, r *request,
	send func(*upstream.Event) error) *openai.Error {
	s := n.service
	t, failure := s.newTurn(r, c)
	if failure != nil {
		return failure
	}
	t.framed = true
	// The next request needs the reasoning, stored or not.
	t.sealing = r.seals(c.settings)
	past, unlock, failure := n.past(ctx, c, t)
	if failure != nil {
		return failure
	}
	defer unlock()
	if failure := t.readInput(ctx, c, past); failure != nil {
		return failure
	}
	save := func(end *outcome) *openai.Error { return n.remember(lane, t, end) }
	if r.store {
		st, failure := s.stored()
		if failure != nil {
			return failure
		}
		save = func(end *outcome) *openai.Error {
			s.recent.forget(n, lane, "")
			return t.store(ctx, st, c, t.record(end, past))
		}
	}
	if r.prewarm {
		return t.prewarm(ctx, send, save)
	}
	return t.deliver(ctx, send, save)
}

// past returns what a turn continues: what the connection remembers, or what is stored.
func (n *session) past(ctx context.Context, c *caller, t *turn) (*store.Past, func(), *openai.Error) {
	if t.request.previous != "" {
		items, size, found := n.service.recent.find(n, t.request.previous)
		if found {
			t.carried = true
			err := c.within()(size)
			return &store.Past{Items: items}, func() {}, n.service.failure(err, "previous_response_id", nil)
		}
		// Without an answer of the store, a client that carries its conversation itself can go on.
		if _, unavailable := n.service.stored(); unavailable != nil && !t.request.store {
			return nil, nil, refusal.PreviousNotFound(t.request.previous)
		}
	}
	return n.service.past(ctx, c, t)
}

// remember keeps the conversation for the next request.
func (n *session) remember(lane string, t *turn, end *outcome) *openai.Error {
	switch {
	case end.status != items.Completed && end.status != items.Incomplete:
		n.service.recent.forget(n, lane, t.request.previous)
	case t.compacted(end):
		n.service.recent.put(n, lane, t.id, end.output)
	default:
		n.service.recent.put(n, lane, t.id, slices.Concat(t.past, t.input, end.output))
	}
	return nil
}
