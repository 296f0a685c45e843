package tracing

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// Live makes tracers whose provider can change while a program runs. Its zero value makes spans that nobody gets.
type Live struct{ provider atomic.Pointer[Provider] }

// Set makes new spans go to a provider. Nil: they go nowhere. The provider before it sends what it has, and is
// closed.
func (l *Live) Set(p *Provider) {
	if before := l.provider.Swap(p); before != nil {
		go before.Close() // spans that have begun are sent if they end in its time
	}
}

// Close closes the provider.
func (l *Live) Close() { l.provider.Swap(nil).Close() }

// Tracer returns a tracer. name is the package whose spans it makes.
func (l *Live) Tracer(name string) trace.Tracer { return &liveTracer{live: l, name: name} }

type liveTracer struct {
	embedded.Tracer
	live *Live
	name string
}

// Start implements [trace.Tracer].
func (t *liveTracer) Start(ctx context.Context, span string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	if p := t.live.provider.Load(); p != nil {
		return p.sdk.Tracer(t.name).Start(ctx, span, o...)
	}
	// Without a collector nothing that is asked for it learns of a client's trace.
	return trace.ContextWithSpanContext(ctx, trace.SpanContext{}), trace.SpanFromContext(context.Background())
}
