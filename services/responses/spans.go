package responses

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// Spans have no text of a request or an answer, and no ids of what is stored. Their errors are codes: an error's
// message may repeat what a client or a tool wrote. Counts of tokens are in the gateway's spans alone, so that sums are
// right.

// The names of attributes, by the semantic conventions, and this service's own.
const (
	spanOperation  = "gen_ai.operation.name"
	spanModel      = "gen_ai.request.model"
	spanTool       = "gen_ai.tool.name"
	spanErrorType  = "error.type"
	spanMethod     = "http.request.method"
	spanRoute      = "http.route"
	spanStatus     = "http.response.status_code"
	spanRequestID  = "http.request.header.x-request-id"
	spanMCPMethod  = "mcp.method.name"
	spanRound      = "harmony.round"
	spanToolServer = "harmony.tool_server"
	spanOutcome    = "harmony.outcome"
)

// traceHeaders are how a trace goes from one program to another.
var traceHeaders propagation.TraceContext

// traced returns the context of a request with the trace that its headers name, if spans are made.
func (s *Service) traced(ctx context.Context, headers http.Header) context.Context {
	if s.options.Tracer == nil {
		return ctx
	}
	return traceHeaders.Extract(ctx, propagation.HeaderCarrier(headers))
}

// span begins a span. Without a tracer it is one that nobody gets.
func (s *Service) span(ctx context.Context, name string, kind trace.SpanKind, about ...attribute.KeyValue,
) (context.Context, trace.Span) {
	if s.options.Tracer == nil {
		return ctx, trace.SpanFromContext(context.Background())
	}
	return s.options.Tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(about...))
}

// requestSpan begins the span of a request, of a connection, or of a request on one.
func (s *Service) requestSpan(r *http.Request, route string) (context.Context, trace.Span) {
	_, path, found := strings.Cut(route, " ")
	if !found {
		path = route
	}
	return s.span(s.traced(r.Context(), r.Header), route, trace.SpanKindServer, attribute.String(spanMethod, r.Method),
		attribute.String(spanRoute, path),
		attribute.StringSlice(spanRequestID, []string{openai.Clip(r.Header.Get("x-request-id"), refusal.MaxLogged)}))
}

// endRequest ends the span of a request.
func endRequest(span trace.Span, o *observed) {
	span.SetAttributes(attribute.Int(spanStatus, o.status))
	if o.model != "" {
		span.SetAttributes(attribute.String(spanModel, openai.Clip(o.model, refusal.MaxLogged)))
	}
	if o.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// backgroundSpan begins the span of a response in the background. It belongs to the trace of the request for it.
func (m *maker) backgroundSpan(ctx context.Context) (context.Context, trace.Span) {
	return m.service.span(m.service.traced(ctx, m.turn.headers), "background response", trace.SpanKindConsumer,
		attribute.String(spanModel, openai.Clip(m.turn.request.model, refusal.MaxLogged)))
}

// roundSpan begins the span of one question to the model.
func (t *turn) roundSpan(ctx context.Context) (context.Context, trace.Span) {
	model := openai.Clip(t.request.model, refusal.MaxLogged)
	return t.service.span(ctx, contract.OperationChat+" "+model, trace.SpanKindClient,
		attribute.String(spanOperation, contract.OperationChat), attribute.String(spanModel, model),
		attribute.Int(spanRound, t.rounds+1))
}

// endRound ends it.
func endRound(ctx context.Context, span trace.Span, end *ending, err error) {
	var refused *refusedError
	switch {
	case err == nil:
		status := end.object.Text("status")
		span.SetAttributes(attribute.String(spanOutcome, status))
		if status == items.Failed {
			fail(span, upstream.ErrorCode(end.object))
		}
	case ctx.Err() != nil:
		span.SetAttributes(attribute.String(spanOutcome, items.Cancelled))
	case errors.As(err, &refused):
		fail(span, refused.failure.Code)
	default:
		fail(span, "lost")
	}
	span.End()
}

// fail marks a span as one of a failure.
func fail(span trace.Span, code string) {
	span.SetAttributes(attribute.String(spanErrorType, openai.Clip(code, refusal.MaxLogged)))
	span.SetStatus(codes.Error, "")
}

// The methods of MCP that have spans.
const (
	mcpCall = "tools/call"
	mcpList = "tools/list"
)

// toolSpan begins the span of a call of a tool. The tool is one that its server offers, so the model has not
// made up the name.
func (t *turn) toolSpan(ctx context.Context, c *hosted.Call) (context.Context, trace.Span) {
	name := openai.Clip(c.Name, refusal.MaxLogged)
	return t.service.span(ctx, mcpCall+" "+name, trace.SpanKindClient, attribute.String(spanMCPMethod, mcpCall),
		attribute.String(spanOperation, "execute_tool"), attribute.String(spanTool, name),
		attribute.String(spanToolServer, c.Label), attribute.Int(spanRound, t.rounds))
}

// endTool ends it.
func endTool(span trace.Span, outcome string) {
	span.SetAttributes(attribute.String(spanOutcome, outcome))
	if outcome != outcomeCompleted {
		fail(span, outcome)
	}
	span.End()
}

// listSpan begins the span of a list of a server's tools.
func (t *turn) listSpan(ctx context.Context, m *hosted.Server) (context.Context, trace.Span) {
	return t.service.span(ctx, mcpList, trace.SpanKindClient, attribute.String(spanMCPMethod, mcpList),
		attribute.String(spanToolServer, m.MetricLabel()))
}
