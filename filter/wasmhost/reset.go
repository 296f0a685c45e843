package wasmhost

// Reset is the reason why a server's response ended before it was complete.
type Reset int

// The reasons, named as in Envoy.
const (
	// ConnectionFailure means that the connection failed.
	ConnectionFailure Reset = iota
	// ConnectionTimeout means that no connection was made in time.
	ConnectionTimeout
	// ConnectionTermination means that the connection ended.
	ConnectionTermination
	// RemoteReset means that the server reset the HTTP/2 stream.
	RemoteReset
	// ProtocolError means that the response was not valid HTTP, or that its body was cut short.
	ProtocolError
	// NoHealthyUpstream means that the cluster has no usable server.
	NoHealthyUpstream
)

// String returns the reason as it appears in response.code_details.
func (r Reset) String() string {
	names := [...]string{
		"remote_connection_failure", "connection_timeout", "connection_termination", "remote_reset", "protocol_error",
		"no_healthy_upstream",
	}
	if r < 0 || int(r) >= len(names) {
		return "unknown"
	}
	return names[r]
}

// Envoy's response flags, as in the property response.flags.
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
