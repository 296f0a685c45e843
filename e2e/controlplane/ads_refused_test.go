//go:build e2e

package controlplane

import (
	"net"
	"slices"
	"strconv"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
)

// TestADSTriesAgainWhatWasRefused: to a server that has started anew an Envoy does not name a version that it has
// refused, and it tries the same resource again. So it is not taken to be current. Of extensions it does not try the
// same again: see TestControlPlaneFileComesLate.
func TestADSTriesAgainWhatWasRefused(t *testing.T) {
	address := echoing(t, "a")
	for typ, spoil := range map[string]func(ads.Resources){
		"listeners": func(r ads.Resources) {
			manager := r[resource.ListenerType][0].(*listenerv3.Listener).FilterChains[0].Filters[0]
			manager.Name, manager.ConfigType = "envoy.filters.network.nobody_knows", nil
			r[resource.RouteType] = nil // the listener that would have asked for it is not one
		},
		"clusters": func(r ads.Resources) {
			r[resource.ClusterType][0].(*clusterv3.Cluster).ConnectTimeout = durationpb.New(-1)
		},
		"routes": func(r ads.Resources) {
			routes := r[resource.RouteType][0].(*routev3.RouteConfiguration)
			routes.VirtualHosts = slices.Repeat(routes.VirtualHosts, 2)
		},
		"endpoints": func(r ads.Resources) {
			one := r[resource.EndpointType][0].(*endpointv3.ClusterLoadAssignment).Endpoints[0].LbEndpoints[0]
			one.GetEndpoint().GetAddress().GetSocketAddress().Address = "not-an-address"
		},
	} {
		t.Run(typ, func(t *testing.T) {
			e := startEdge(t, adsWorld(t, "one", map[string]string{"one": address}))
			bad := adsWorld(t, "one", map[string]string{"one": address})
			spoil(bad)
			e.set(bad)
			e.until("refused", func(one ads.Envoy) bool { return one.Types[typ].Refused != "" })
			e.stop()
			e.serve(bad)
			e.until("refused again", func(one ads.Envoy) bool {
				if one.Current {
					t.Fatalf("current: %+v", one)
				}
				return one.Types[typ].Refused != ""
			})
			e.answers("200 a")
		})
	}
}

// An obstacle in the way of a listener is gone when the server starts anew.
func TestADSTriesAListenerAgain(t *testing.T) {
	address := echoing(t, "a")
	e := startEdge(t, adsWorld(t, "one", map[string]string{"one": address}))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	r := adsWorld(t, "one", map[string]string{"one": address})
	r[resource.ListenerType][0].(*listenerv3.Listener).Address = socket("127.0.0.1", uint32(port))
	e.set(r)
	e.until("refused", func(one ads.Envoy) bool { return one.Types["listeners"].Refused != "" })
	e.answers("200 a")
	taken.Close()
	e.stop()
	e.serve(r)
	e.until("current", func(one ads.Envoy) bool { return one.Current })
	e.url = "http://127.0.0.1:" + strconv.Itoa(port)
	e.answers("200 a")
}
