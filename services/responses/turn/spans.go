package turn

import (
	"context"
	"encoding/json"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/spans"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// roundSpan begins the span of one question to the model.
func (t *Turn) roundSpan(ctx context.Context) (context.Context, trace.Span) {
	model := openai.Clip(t.Request.Model, refusal.MaxLogged)
	about := []attribute.KeyValue{attribute.String(spans.Operation, contract.OperationChat),
		attribute.String(spans.Model, model), attribute.Int(spans.Round, t.rounds+1)}
	if id := t.conversation(); id != "" {
		about = append(about, attribute.String(spans.Conversation, openai.Clip(id, refusal.MaxLogged)))
	}
	return t.env.Spans.Begin(ctx, contract.OperationChat+" "+model, trace.SpanKindClient, about...)
}

// conversation returns the name of the conversation: the id of a stored one, or the client's own key of it.
func (t *Turn) conversation() (id string) {
	if t.Request.Conversation != "" {
		return t.Request.Conversation
	}
	_ = json.Unmarshal(items.OrNull(t.Request.Fields["prompt_cache_key"]), &id)
	return id
}

// endRound ends it.
func endRound(ctx context.Context, span trace.Span, end *ending, err error) {
	var refused *refusedError
	switch {
	case err == nil:
		status := end.object.Text("status")
		span.SetAttributes(attribute.String(spans.Outcome, status))
		if status == items.Failed {
			spans.Fail(span, upstream.ErrorCode(end.object))
		}
	case ctx.Err() != nil:
		span.SetAttributes(attribute.String(spans.Outcome, items.Cancelled))
	case errors.As(err, &refused):
		spans.Fail(span, refused.failure.Code)
	default:
		spans.Fail(span, "lost")
	}
	span.End()
}

// The methods of MCP that have spans.
const (
	mcpCall = "tools/call"
	mcpList = "tools/list"
)

// span begins the span of a call of a tool. The tool is one that its server offers, so the model has not
// made up the name.
func (r *runner) span(ctx context.Context, c *hosted.Call) (context.Context, trace.Span) {
	name := openai.Clip(c.Name, refusal.MaxLogged)
	return r.env.Spans.Begin(ctx, mcpCall+" "+name, trace.SpanKindClient, attribute.String(spans.MCPMethod, mcpCall),
		attribute.String(spans.Operation, "execute_tool"), attribute.String(spans.Tool, name),
		attribute.String(spans.ToolServer, c.Label), attribute.Int(spans.Round, r.round))
}

// endTool ends it.
func endTool(span trace.Span, outcome string) {
	span.SetAttributes(attribute.String(spans.Outcome, outcome))
	if outcome != outcomeCompleted {
		spans.Fail(span, outcome)
	}
	span.End()
}

// listSpan begins the span of a list of a server's tools.
func (t *Turn) listSpan(ctx context.Context, m *hosted.Server) (context.Context, trace.Span) {
	return t.env.Spans.Begin(ctx, mcpList, trace.SpanKindClient, attribute.String(spans.MCPMethod, mcpList),
		attribute.String(spans.ToolServer, m.MetricLabel()))
}
