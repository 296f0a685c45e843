package spans

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
)

// The names of attributes, by the semantic conventions, and this service's own.
const (
	Operation    = "gen_ai.operation.name"
	Model        = "gen_ai.request.model"
	Conversation = "gen_ai.conversation.id"
	Tool         = "gen_ai.tool.name"
	ErrorType    = "error.type"
	Method       = "http.request.method"
	Route        = "http.route"
	Status       = "http.response.status_code"
	RequestID    = "http.request.header.x-request-id"
	MCPMethod    = "mcp.method.name"
	Round        = "harmony.round"
	ToolServer   = "harmony.tool_server"
	Outcome      = "harmony.outcome"
)

// traceHeaders are how a trace goes from one program to another.
var traceHeaders propagation.TraceContext

// Maker makes spans. Without a tracer they are spans that nobody gets.
type Maker struct{ Tracer trace.Tracer }

// Follow returns the context of a request with the trace that its headers name, if spans are made.
func (s *Maker) Follow(ctx context.Context, headers http.Header) context.Context {
	if s.Tracer == nil {
		return ctx
	}
	return traceHeaders.Extract(ctx, propagation.HeaderCarrier(headers))
}

// Begin begins a span.
func (s *Maker) Begin(ctx context.Context, name string, kind trace.SpanKind, about ...attribute.KeyValue,
) (context.Context, trace.Span) {
	if s.Tracer == nil {
		return ctx, trace.SpanFromContext(context.Background())
	}
	return s.Tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(about...))
}

// Fail marks a span as one of a failure.
func Fail(span trace.Span, code string) {
	span.SetAttributes(attribute.String(ErrorType, openai.Clip(code, refusal.MaxLogged)))
	span.SetStatus(codes.Error, "")
}
