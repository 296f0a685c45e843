package cli

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/tracing"
	"github.com/harmonyedge/harmonyedge/internal/version"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

// The names of the programs in traces. Envoy's name is in its own configuration.
const (
	TracedService      = "harmony-responses"
	TracedControlPlane = "harmony-controlplane"
)

// Traces send the spans of a program to the collector of the version in force. It is a [follow.Part].
type Traces struct {
	tracing.Live
	program string
	log     *slog.Logger
	to      *tracing.Options // of the version in force; nil: nobody gets spans
}

// NewTraces returns the traces of a program, which is one of the names above.
func NewTraces(program string, log *slog.Logger) *Traces { return &Traces{program: program, log: log} }

// Begin sends the spans of the first reading of a configuration, which begins before a version is in force. The reading
// tells what is wrong with it.
func (t *Traces) Begin(ctx context.Context, c *config.Config) {
	_ = t.Apply(ctx, &follow.Version{Config: c}) // the first version is checked
}

// options returns where spans go, or nil.
func (t *Traces) options(c *config.Config) (*tracing.Options, error) {
	if !c.Tracing.Enabled() {
		return nil, nil //nolint:nilnil // as documented
	}
	to, err := c.Tracing.Collector()
	if err != nil {
		return nil, &config.Error{Field: "tracing", Reason: err.Error()}
	}
	return &tracing.Options{
		Host: net.JoinHostPort(to.Endpoint.Host, strconv.Itoa(int(to.Endpoint.Port))), TLS: to.Endpoint.TLS, Path: to.Path,
		CAFile: c.CAFile, Share: float64(c.Tracing.Share.Millionths()) / 1e6,
		Service: t.program, Version: version.Current().Version, Log: t.log,
	}, nil
}

// newProvider returns a provider. An error is one of the configuration.
func newProvider(o *tracing.Options) (*tracing.Provider, error) {
	p, err := tracing.New(*o)
	if err != nil {
		return nil, &config.Error{Field: "tracing", Reason: strings.TrimPrefix(err.Error(), "tracing: ")}
	}
	return p, nil
}

// Check implements [follow.Part].
func (t *Traces) Check(_ context.Context, v *follow.Version) error {
	o, err := t.options(v.Config)
	if err == nil && o != nil {
		var p *tracing.Provider
		if p, err = newProvider(o); err == nil {
			p.Close()
		}
	}
	return err
}

// Apply implements [follow.Part].
func (t *Traces) Apply(_ context.Context, v *follow.Version) error {
	o, err := t.options(v.Config)
	if err != nil || o == nil && t.to == nil || o != nil && t.to != nil && *o == *t.to {
		return err
	}
	var p *tracing.Provider
	if o != nil {
		if p, err = newProvider(o); err != nil {
			return err
		}
	}
	t.Set(p)
	t.to = o
	return nil
}

// Run sends spans until ctx ends. It implements [follow.Part].
func (t *Traces) Run(ctx context.Context) error {
	<-ctx.Done()
	t.Close()
	return nil
}

// Drain implements [follow.Part].
func (t *Traces) Drain() {}
