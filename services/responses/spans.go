package responses

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/spans"
)

// requestSpan begins the span of a request, of a connection, or of a request on one.
func (s *Service) requestSpan(r *http.Request, route string) (context.Context, trace.Span) {
	_, path, found := strings.Cut(route, " ")
	if !found {
		path = route
	}
	return s.env.Spans.Begin(s.env.Spans.Follow(r.Context(), r.Header), route, trace.SpanKindServer,
		attribute.String(spans.Method, r.Method),
		attribute.String(spans.Route, path),
		attribute.StringSlice(spans.RequestID, []string{openai.Clip(r.Header.Get("x-request-id"), refusal.MaxLogged)}))
}

// endRequest ends the span of a request.
func endRequest(span trace.Span, o *observed) {
	span.SetAttributes(attribute.Int(spans.Status, o.status))
	if o.model != "" {
		span.SetAttributes(attribute.String(spans.Model, openai.Clip(o.model, refusal.MaxLogged)))
	}
	if o.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// backgroundSpan begins the span of a response in the background. It belongs to the trace of the request for it.
func (m *maker) backgroundSpan(ctx context.Context) (context.Context, trace.Span) {
	makes := &m.service.env.Spans
	return makes.Begin(makes.Follow(ctx, m.turn.Headers), "background response", trace.SpanKindConsumer,
		attribute.String(spans.Model, openai.Clip(m.turn.Request.Model, refusal.MaxLogged)))
}
