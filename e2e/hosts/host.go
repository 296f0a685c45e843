package hosts

import (
	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Host is a running gateway.
type Host struct {
	// Name is "native", "wazero" or "envoy".
	Name string
	// URL is where clients reach it, without a trailing slash.
	URL string
	// Process is the running Envoy; nil for other hosts.
	Process *envoy.Process
	// Server is the host in this process; nil for others.
	Server *inprocess.Server
	stop   func()
	chunks func(requests int) (int, error)
	plane  *ads.Server // of an Envoy over ADS
}

// ResponseChunks returns how many pieces of responses the gateway has received, once so many requests have ended. A
// stream was really cut only if the gateway was called for each piece.
func (h *Host) ResponseChunks(requests int) (int, error) { return h.chunks(requests) }

// Stop ends the host and everything that it started.
func (h *Host) Stop() { h.stop() }

// Setup is the input of a host's start.
type Setup struct {
	// Config is the operator's configuration; its addresses are replaced by free ports.
	Config *config.Config
	// Cut is the number of bytes of the server's stream that the gateway receives at once; 0 leaves the pieces as they
	// arrive. CutAt are further offsets at which the stream is cut, for the wazero host only. Envoy receives what the
	// server sends.
	Cut   int
	CutAt []int
}
