package server

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
)

// traces makes spans: of a configuration that is loaded, within it of what is pushed, and in turn of each Envoy's
// answers.
type traces struct {
	tracer trace.Tracer // nil: there are no spans

	mu sync.Mutex
	// pushed is the last push, and pushedAt its time.
	pushed   trace.SpanContext
	pushedAt time.Time
}

// answerTime is how long an answer belongs to the trace of the last push. Later ones are of Envoys that have connected
// since then.
const answerTime = time.Minute

// begin begins a span. Without a tracer it is one that nobody gets.
func (t *traces) begin(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	if t.tracer == nil {
		return ctx, trace.SpanFromContext(context.Background())
	}
	return t.tracer.Start(ctx, name, o...)
}

// push is the span of what is given to Envoys.
type push struct {
	trace.Span
	traces   *traces
	before   trace.SpanContext
	beforeAt time.Time
}

func (t *traces) push(ctx context.Context) *push {
	_, span := t.begin(ctx, "push", trace.WithSpanKind(trace.SpanKindProducer))
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &push{span, t, t.pushed, t.pushedAt}
	t.pushed, t.pushedAt = span.SpanContext(), time.Now()
	return p
}

// end ends the span. Answers belong to a push that has changed something.
func (p *push) end(changed bool, err error, versions map[string]string) {
	if !changed {
		p.traces.mu.Lock()
		p.traces.pushed, p.traces.pushedAt = p.before, p.beforeAt
		p.traces.mu.Unlock()
	}
	p.SetAttributes(attribute.Bool("harmony.changed", changed))
	for short, version := range versions {
		p.SetAttributes(attribute.String("harmony.version."+short, version))
	}
	endSpan(p.Span, err)
}

// answered makes the span of an Envoy's answer, from the response to it.
func (t *traces) answered(a ads.Answer) {
	if t.tracer == nil {
		return
	}
	t.mu.Lock()
	pushed, at := t.pushed, t.pushedAt
	t.mu.Unlock()
	ctx := context.Background()
	if pushed.IsValid() && a.Sent.Sub(at) < answerTime {
		ctx = trace.ContextWithSpanContext(ctx, pushed)
	}
	name := "accept " + a.Type
	if a.Error != "" {
		name = "refuse " + a.Type
	}
	_, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(a.Sent),
		trace.WithAttributes(attribute.String("harmony.envoy", a.Envoy), attribute.String("harmony.version", a.Version),
			attribute.Int("harmony.resources", a.Resources)))
	if a.Error != "" {
		span.SetStatus(codes.Error, a.Error)
	}
	span.End()
}

// endSpan ends a span with an error, or without one.
func endSpan(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
