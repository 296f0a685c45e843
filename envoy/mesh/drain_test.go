package mesh

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
)

// TestEndpointsDrained: a mesh does not get the servers that are drained.
func TestEndpointsDrained(t *testing.T) {
	one := func(host string, status corev3.HealthStatus) *endpointv3.LbEndpoint {
		address := &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: host}}}
		return &endpointv3.LbEndpoint{HealthStatus: status, HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
			Endpoint: &endpointv3.Endpoint{Address: address}}}
	}
	got := Endpoints(&clusterv3.Cluster{LoadAssignment: &endpointv3.ClusterLoadAssignment{
		Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{
			one("10.0.0.7", corev3.HealthStatus_DRAINING), one("10.0.0.8", corev3.HealthStatus_UNKNOWN)}}}}})
	if len(got) != 1 || got[0].Host != "10.0.0.8" {
		t.Errorf("got %+v", got)
	}
}
