package hosts

import (
	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
)

// Host is a running gateway.
type Host struct {
	// Name is "native", "wazero" or "envoy".
	Name string
	// URL is where clients reach it, without a trailing slash.
	URL string
	// Process is the Envoy that runs; nil for other hosts.
	Process *envoy.Process
	// Server is the host in this process; nil for others.
	Server *inprocess.Server
	stop   func()
	chunks func(requests int) (int, error)
}

// ResponseChunks is how many pieces of responses the gateway has been given after so many requests have ended: a stream
// was cut only where the gateway was called.
func (h *Host) ResponseChunks(requests int) (int, error) { return h.chunks(requests) }

// Stop ends the host and everything that it started.
func (h *Host) Stop() { h.stop() }

// Setup is what a host is started with.
type Setup struct {
	// Config is the operator's configuration; its addresses are replaced by free ports.
	Config *config.Config
	// Cut is how many bytes of the server's stream the gateway is given at once; 0 is as they come. CutAt are offsets at
	// which the stream is cut as well; only the wazero host knows offsets. Envoy is given what the server sends.
	Cut   int
	CutAt []int
}
