package wasmhost

// Reset is why a server's answer ended before it was complete.
type Reset int

// The reasons, by Envoy's names.
const (
	// ConnectionFailure: no connection came about.
	ConnectionFailure Reset = iota
	// ConnectionTimeout: none came about in time.
	ConnectionTimeout
	// ConnectionTermination: the connection ended.
	ConnectionTermination
	// RemoteReset: the server reset the HTTP/2 stream.
	RemoteReset
	// ProtocolError: what came was not HTTP, or its body was cut short.
	ProtocolError
	// NoHealthyUpstream: the cluster has no server.
	NoHealthyUpstream
)

// String is the reason as it stands in response.code_details.
func (r Reset) String() string {
	names := [...]string{
		"remote_connection_failure", "connection_timeout", "connection_termination", "remote_reset", "protocol_error", "no_healthy_upstream",
	}
	if r < 0 || int(r) >= len(names) {
		return "unknown"
	}
	return names[r]
}

// Envoy's response flags, as the property response.flags has them.
const (
	flagNoHealthyUpstream             = 1 << 1
	flagUpstreamRequestTimeout        = 1 << 2
	flagUpstreamRemoteReset           = 1 << 4
	flagUpstreamConnectionFailure     = 1 << 5
	flagUpstreamConnectionTermination = 1 << 6
	flagNoRoute                       = 1 << 8
	flagDownstreamTermination         = 1 << 14
	flagStreamIdleTimeout             = 1 << 16
	flagUpstreamProtocolError         = 1 << 23
	flagNoCluster                     = 1 << 24
	flagDownstreamRemoteReset         = 1 << 28
)

func (r Reset) flag() uint64 {
	switch r {
	case ConnectionTermination:
		return flagUpstreamConnectionTermination
	case RemoteReset:
		return flagUpstreamRemoteReset
	case ProtocolError:
		return flagUpstreamProtocolError
	case NoHealthyUpstream:
		return flagNoHealthyUpstream
	default:
		return flagUpstreamConnectionFailure
	}
}
