package server

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spanList is an exporter that keeps spans.
type spanList struct {
	mu  sync.Mutex
	all []sdktrace.ReadOnlySpan
}

func (l *spanList) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, spans...)
	return nil
}

func (l *spanList) Shutdown(context.Context) error { return nil }

// path returns the names of a span and of those above it, the newest span of this name and error. It is empty if there is
// none.
func (l *spanList) path(name, failure string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	byID := map[string]sdktrace.ReadOnlySpan{}
	var found sdktrace.ReadOnlySpan
	for _, s := range l.all {
		byID[s.SpanContext().SpanID().String()] = s
		isFailed := s.Status().Code == codes.Error
		if s.Name() == name && isFailed == (failure != "") && strings.Contains(s.Status().Description, failure) {
			found = s
		}
	}
	var names []string
	for found != nil {
		names = append([]string{found.Name()}, names...)
		found = byID[found.Parent().SpanID().String()]
	}
	return strings.Join(names, " > ")
}

// TestSpans follows a change to its Envoy, then one that the Envoy refuses, and one that is a mistake.
func TestSpans(t *testing.T) {
	spans := &spanList{}
	engine := newEngine(t, `{"id":"m"}`)
	p := start(t, folderWith(t, oneModel(engine.URL)), func(o *testOptions) {
		o.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")
	})
	e := startEnvoy(t, p.ads, "one")
	const pushed = "load configuration > push > "
	eventually(t, "an answer in the trace of the load", func() bool {
		return spans.path("accept listeners", "") == pushed+"accept listeners"
	})
	eventually(t, "current", p.current)
	e.refuses(resource.ExtensionConfigType)
	p.write("config.yaml", strings.Replace(oneModel(engine.URL), "name: m", "name: n", 1))
	eventually(t, "a refusal in the trace of the load", func() bool {
		return spans.path("refuse extensions", "not here") == pushed+"refuse extensions"
	})
	p.write("config.yaml", "models: [")
	eventually(t, "a load with an error", func() bool {
		return spans.path("load configuration", "config.yaml:1: ") == "load configuration"
	})
}
