package responses

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
)

// otherRoute is the route of a path that the API does not have, and frameRoute the route of a request on a connection.
const (
	otherRoute = "other"
	frameRoute = "response.create"
)

// watched calls a handler, counts its request, and logs it.
func (s *Service) watched(w http.ResponseWriter, r *http.Request, c *input.Caller,
	handle func(http.ResponseWriter, *http.Request)) {
	began, route := s.now(), r.Pattern
	if route == "/" {
		route = otherRoute
	}
	ctx, span := s.requestSpan(r, route)
	a := &answer{ResponseWriter: w, status: http.StatusOK}
	defer func() { // also after a handler that has cut its stream by a panic
		o := &observed{began: began, route: route, id: r.Header.Get("x-request-id"), model: c.Model, status: a.status,
			bytes: a.bytes}
		s.observe(o)
		endRequest(span, o)
	}()
	handle(a, r.WithContext(ctx))
}

// observed is a request, a connection or a frame that has been handled.
type observed struct {
	began            time.Time
	route, id, model string
	status           int
	bytes            int64
}

// observe counts and logs what has been handled.
func (s *Service) observe(o *observed) {
	took := s.now().Sub(o.began)
	s.metrics.answered(o.route, o.status, took)
	s.accessLog.write(&logLine{Time: o.began.UTC(), RequestID: openai.Clip(o.id, refusal.MaxLogged), Route: o.route,
		Status:     o.status,
		DurationMS: took.Milliseconds(), BytesSent: o.bytes, Model: openai.Clip(o.model, refusal.MaxLogged)})
}

// answer remembers what a handler answers.
type answer struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (a *answer) Write(p []byte) (int, error) {
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets [http.ResponseController] flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// logLine is a line of the access log. It has no text of a request or an answer, and no ids of what is stored. Its
// names are the same as in Envoy's access log.
type logLine struct {
	Time       time.Time `json:"time"`
	RequestID  string    `json:"request_id"`
	Route      string    `json:"route"`
	Status     int       `json:"status"`
	DurationMS int64     `json:"duration_ms"`
	BytesSent  int64     `json:"bytes_sent"`
	Model      string    `json:"harmony_model,omitempty"`
}

// accessLog writes lines, if there is a writer.
type accessLog struct {
	mu sync.Mutex
	to io.Writer
}

func (l *accessLog) write(line *logLine) {
	if l.to == nil {
		return
	}
	text := append(items.JSON(line), '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.to.Write(text) // a full disk must not fail requests
}
