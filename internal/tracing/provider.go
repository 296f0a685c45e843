package tracing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/credentials"
)

// Options say who sends spans, and where.
type Options struct {
	// Host is the collector's host:port, and TLS reports whether it speaks TLS. CAFile holds the certificates against
	// which it is checked. Empty: the system's.
	Host   string
	TLS    bool
	CAFile string
	// Path is the path of OTLP over HTTP. Empty: gRPC.
	Path string
	// Share is the part of the traces, from 0 to 1, that begin here and are sent. For others, whoever began them decides.
	Share float64
	// Service and Version are the program's in the spans.
	Service, Version string
	// Log gets what goes wrong, at most once in a while. It must be set.
	Log *slog.Logger
}

// The limits on what a collector that does not answer costs.
const (
	maxQueue      = 2048
	maxBatch      = 512
	exportTimeout = 5 * time.Second
	interval      = time.Second
	// closeTimeout is how long the end of the program waits.
	closeTimeout = 2 * time.Second
	// maxValue is the longest value of an attribute, and maxAttributes how many a span has.
	maxValue      = 256
	maxAttributes = 32
	// quiet is how long nothing more is logged of a collector that does not answer.
	quiet = time.Minute
)

// Provider makes tracers. A nil one makes none.
type Provider struct{ sdk *sdktrace.TracerProvider }

// New returns a provider. It does not wait for the collector.
func New(o Options) (*Provider, error) {
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(context.Background(), client) // it connects later
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit, limits.AttributeCountLimit = maxValue, maxAttributes
	about := resource.NewSchemaless(attribute.String("service.name", o.Service),
		attribute.String("service.version", o.Version))
	return &Provider{sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Share))),
		sdktrace.WithBatcher(&reporting{SpanExporter: exporter, log: o.Log}, sdktrace.WithMaxQueueSize(maxQueue),
			sdktrace.WithMaxExportBatchSize(maxBatch), sdktrace.WithExportTimeout(exportTimeout),
			sdktrace.WithBatchTimeout(interval)),
	)}, nil
}

func (o *Options) client() (otlptrace.Client, error) {
	var secure *tls.Config
	if o.TLS {
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
		if o.CAFile != "" {
			pem, err := os.ReadFile(o.CAFile)
			if err != nil {
				return nil, fmt.Errorf("tracing: %w", err)
			}
			secure.RootCAs = x509.NewCertPool()
			if !secure.RootCAs.AppendCertsFromPEM(pem) {
				return nil, errors.New("tracing: " + o.CAFile + " has no certificates")
			}
		}
	}
	if o.Path == "" {
		options := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(o.Host), otlptracegrpc.WithTimeout(exportTimeout),
			otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{})}
		if o.TLS {
			options = append(options, otlptracegrpc.WithTLSCredentials(credentials.NewTLS(secure)))
		} else {
			options = append(options, otlptracegrpc.WithInsecure())
		}
		return otlptracegrpc.NewClient(options...), nil
	}
	options := []otlptracehttp.Option{otlptracehttp.WithEndpoint(o.Host), otlptracehttp.WithURLPath(o.Path),
		otlptracehttp.WithTimeout(exportTimeout), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{})}
	if o.TLS {
		options = append(options, otlptracehttp.WithTLSClientConfig(secure))
	} else {
		options = append(options, otlptracehttp.WithInsecure())
	}
	return otlptracehttp.NewClient(options...), nil
}

// Tracer returns a tracer, or nil. name is the package whose spans it makes.
func (p *Provider) Tracer(name string) trace.Tracer {
	if p == nil {
		return nil
	}
	return p.sdk.Tracer(name)
}

// Close sends what is left, unless the collector does not take it in time.
func (p *Provider) Close() {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = p.sdk.Shutdown(ctx) // what is left is lost, and the log says that the collector does not answer
}

// reporting is an exporter whose errors are logged once in a while.
type reporting struct {
	sdktrace.SpanExporter
	log *slog.Logger
	// silent is until when nothing is logged. The SDK calls an exporter once at a time.
	silent time.Time
}

// ExportSpans implements [sdktrace.SpanExporter].
func (r *reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	if now := time.Now(); err != nil && now.After(r.silent) {
		r.silent = now.Add(quiet)
		r.log.Warn("the collector of spans does not take them; they are dropped", "error", err)
	}
	return nil // else the SDK would log each by itself
}
