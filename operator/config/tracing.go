package config

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Tracing determines where spans of OpenTelemetry go, and of which traces: docs/tracing.md.
type Tracing struct {
	// URL is the collector: http://host:4317 for OTLP over gRPC, http://host:4318/v1/traces for OTLP over HTTP. Empty:
	// there are no spans.
	URL string `yaml:"url"`
	// Share is the part of the traces that are sent, such as 100% or 0.5%.
	Share Percent `yaml:"share"`
}

// DefaultShare is the part of the traces that are sent by default.
const DefaultShare = Percent(100)

// Collector is where spans go, as [Tracing.URL] says.
type Collector struct {
	Endpoint Endpoint
	// Path is the path of OTLP over HTTP. Empty: gRPC.
	Path string
}

// GRPC reports whether the collector speaks OTLP over gRPC.
func (c *Collector) GRPC() bool { return c.Path == "" }

// Enabled reports whether there are spans.
func (t *Tracing) Enabled() bool { return t.URL != "" }

// The usual ports of OTLP: people write the one where the other belongs.
const (
	grpcPort = 4317
	httpPort = 4318
)

// Collector returns the collector of [Tracing.URL]. It is the zero value if that is empty.
func (t *Tracing) Collector() (Collector, error) {
	if t.URL == "" {
		return Collector{}, nil
	}
	e, path, err := parseURL(t.URL)
	if err != nil {
		return Collector{}, err
	}
	if path == "/" {
		path = ""
	}
	fail := func(reason string) (Collector, error) {
		return Collector{}, errors.New(strconv.Quote(t.URL) + " " + reason)
	}
	switch {
	case path == "" && e.Port == httpPort:
		return fail("has the port of OTLP over HTTP, whose URLs have a path; write " + e.String() + "/v1/traces")
	case path != "" && e.Port == grpcPort:
		return fail("has the port of OTLP over gRPC, whose URLs have no path; write " + e.String())
	case len(path) > maxAPIPath:
		return fail("has a path that is too long")
	}
	if u, err := url.Parse(t.URL); err == nil && u.Port() == "" {
		return fail("has no port; write http://host:4317, or http://host:4318/v1/traces")
	}
	return Collector{Endpoint: e, Path: path}, nil
}

// checkTracing checks the collector, and adds it to r. A server of a model must not be the collector, because it would
// take spans for requests.
func (c *Config) checkTracing(r *Resolved, p *problems) {
	if !c.Tracing.Enabled() {
		if c.Tracing.Share != DefaultShare {
			p.add("tracing", "has a share and no url; write url: http://host:4317, or leave the block out")
		}
		return
	}
	collector, err := c.Tracing.Collector()
	if err != nil {
		p.add("tracing.url", "%v", err)
	} else if owner, ok := r.owners[collector.Endpoint.withoutScheme()]; ok {
		p.add("tracing.url", "%s is a server of %s; write the URL of a collector", c.Tracing.URL, owner)
	}
	r.Collector = collector
}

// Percent is a part of a hundred, written as 100% or 0.5%.
type Percent float64

// maxDecimals is how many decimals a [Percent] may have: Envoy knows millionths.
const maxDecimals = 4

// Set implements pflag.Value.
func (p *Percent) Set(text string) error {
	number, ok := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	_, decimals, _ := strings.Cut(number, ".")
	plain := strings.Trim(number, "0123456789.") == ""
	if !ok || err != nil || !(v >= 0 && v <= 100) || len(decimals) > maxDecimals || !plain {
		return fmt.Errorf("%q is not a share; write 0%% to 100%%, such as 10%% or 0.5%%, with at most %d decimals", text,
			maxDecimals)
	}
	*p = Percent(v)
	return nil
}

// Millionths returns the share in millionths of the whole.
func (p Percent) Millionths() uint32 { return uint32(math.Round(float64(p) * 1e4)) }

// String implements pflag.Value.
func (p *Percent) String() string { return strconv.FormatFloat(float64(*p), 'f', -1, 64) + "%" }

// Type implements pflag.Value.
func (p *Percent) Type() string { return "share" }

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (p *Percent) UnmarshalYAML(node ast.Node) error { return setNode(node, p.Set) }
