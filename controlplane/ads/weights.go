package ads

import (
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
)

// Weights follow the servers' load, and change all the time. An Envoy with other weights than the present ones is
// current all the same. So the version of endpoints with weights has two parts: the version of the endpoints without
// weights, and the version of the whole.

// weightsMark is between the two parts.
const weightsMark = "-"

// meaning returns the part of a version that weights do not change.
func meaning(version string) string {
	before, _, _ := strings.Cut(version, weightsMark)
	return before
}

// onlyWeigh reports whether two versions differ in weights alone.
func onlyWeigh(one, other string) bool { return one != other && meaning(one) == meaning(other) }

// weighted reports whether an endpoint has a weight.
func weighted(a *endpointv3.ClusterLoadAssignment) bool {
	for _, locality := range a.GetEndpoints() {
		for _, e := range locality.GetLbEndpoints() {
			if e.GetLoadBalancingWeight() != nil {
				return true
			}
		}
	}
	return false
}

// withoutWeights returns a copy without the endpoints' weights.
func withoutWeights(a *endpointv3.ClusterLoadAssignment) *endpointv3.ClusterLoadAssignment {
	a = proto.CloneOf(a)
	for _, locality := range a.GetEndpoints() {
		for _, e := range locality.GetLbEndpoints() {
			e.LoadBalancingWeight = nil
		}
	}
	return a
}

// onlyWeights reports whether a response changes nothing but weights of what Envoy holds.
func (s *subscription) onlyWeights(f *response) bool {
	for name, version := range f.versions {
		if held, ok := s.accepted[name]; !ok || meaning(held) != meaning(version) {
			return false
		}
	}
	return len(f.versions) > 0
}
