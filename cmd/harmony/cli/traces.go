package cli

import (
	"log/slog"
	"net"
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/tracing"
	"github.com/harmonyedge/harmonyedge/internal/version"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// The names of the programs in traces. Envoy's name is in its own configuration.
const (
	TracedService      = "harmony-responses"
	TracedControlPlane = "harmony-controlplane"
)

// NewTraces returns what sends a program's spans, or nil if the configuration has no collector.
func NewTraces(c *config.Config, program string, log *slog.Logger) (*tracing.Provider, error) {
	if c == nil || !c.Tracing.Enabled() {
		return nil, nil
	}
	to, err := c.Tracing.Collector()
	if err != nil {
		return nil, err
	}
	return tracing.New(tracing.Options{
		Host: net.JoinHostPort(to.Endpoint.Host, strconv.Itoa(int(to.Endpoint.Port))), TLS: to.Endpoint.TLS, Path: to.Path,
		CAFile: c.CAFile, Share: float64(c.Tracing.Share.Millionths()) / 1e6,
		Service: program, Version: version.Current().Version, Log: log,
	})
}
