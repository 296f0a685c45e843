package wasmhost

import (
	"strings"
	"time"
)

// StreamInfo is what an access log tells about a stream that has ended.
type StreamInfo struct {
	// Opened is when the request came. Duration is the time until the stream ended.
	Opened   time.Time
	Duration time.Duration
	// Status is the client's, or 0 if it got none.
	Status int
	// Details says why the response is as it is, as [Stream.Details] does. HasDetails reports whether it is known. The
	// filter's own replies have empty details.
	Details    string
	HasDetails bool
	// Flags are Envoy's short names of what went wrong, separated by commas, or empty.
	Flags string
	// Received and Sent are the sizes of the bodies of the request and the response, in bytes.
	Received, Sent uint64
	// Upstream is the server's address as host:port, or empty.
	Upstream string
}

// Info returns what an access log tells about the stream.
func (s *Stream) Info() StreamInfo {
	s.worker.enter()
	defer s.worker.leave()
	info := StreamInfo{Opened: s.opened, Flags: flagNames(s.flags), Received: s.request.bytes, Sent: s.response.bytes,
		Upstream: s.upstream, Status: s.status(), HasDetails: s.details != nil}
	if s.details != nil {
		info.Details = *s.details
	}
	if s.done {
		info.Duration = s.closed.Sub(s.opened)
	}
	return info
}

// RequestHeader returns a header of the request as the filter has left it. The second result reports whether the
// request has it.
func (s *Stream) RequestHeader(name string) (string, bool) {
	s.worker.enter()
	defer s.worker.leave()
	value, ok := s.request.headers.Lookup(name)
	return strings.Clone(value), ok
}

// shortNames are Envoy's short names of the response flags, in the order in which Envoy writes them.
var shortNames = []struct {
	flag uint64
	name string
}{
	{flagNoHealthyUpstream, "UH"},
	{flagUpstreamRequestTimeout, "UT"},
	{flagUpstreamRemoteReset, "UR"},
	{flagUpstreamConnectionFailure, "UF"},
	{flagUpstreamConnectionTermination, "UC"},
	{flagNoRoute, "NR"},
	{flagDownstreamTermination, "DC"},
	{flagStreamIdleTimeout, "SI"},
	{flagUpstreamProtocolError, "UPE"},
	{flagNoCluster, "NC"},
	{flagDownstreamRemoteReset, "DR"},
}

func flagNames(flags uint64) string {
	var names []string
	for _, f := range shortNames {
		if flags&f.flag != 0 {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ",")
}
