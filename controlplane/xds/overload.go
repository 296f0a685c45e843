package xds

import (
	"fmt"
	"time"

	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	connectionsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	heapv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/fixed_heap/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
)

const (
	heapMonitor        = "envoy.resource_monitors.fixed_heap"
	connectionsMonitor = "envoy.resource_monitors.global_downstream_max_connections"
	// overloadInterval is how often the heap is looked at. A client on a fast network sends 100 MB in a second.
	overloadInterval = 100 * time.Millisecond
	// accountedFrom is the size, as a power of two, from which a stream's memory is told from others': 1 MiB.
	accountedFrom = 20
	// Requests are refused from this share of the heap on, and streams are cut between the two others: the largest first, and
	// halfway, where requests begin to be refused, those of 8 MiB, which is what a client that is not read from comes to.
	refuseFrom          = 0.90
	resetFrom, resetAll = 0.85, 0.95
)

// Overload says what an Envoy does when it has too much to hold: an overload manager that Envoy's guide to an edge proxy
// asks for. The heap is what Envoy holds itself, such as requests and answers; the filter's VMs lie outside it. As it
// fills, memory is given back, then clients' connections are not kept and the largest streams are cut, of HTTP/2 (Envoy does not
// tell how much one of HTTP/1.1 holds), and then new requests are refused. Connections beyond the limit are closed as
// they come.
func Overload(e *config.Envoy) (*overloadv3.OverloadManager, error) {
	heap, err := monitor(heapMonitor, &heapv3.FixedHeapConfig{MaxHeapSizeBytes: uint64(e.MaxHeap)})
	if err != nil {
		return nil, err
	}
	connections, err := monitor(connectionsMonitor, &connectionsv3.DownstreamConnectionsConfig{MaxActiveDownstreamConnections: int64(e.MaxConnections)})
	if err != nil {
		return nil, err
	}
	return &overloadv3.OverloadManager{
		RefreshInterval:  durationpb.New(overloadInterval),
		ResourceMonitors: []*overloadv3.ResourceMonitor{heap, connections},
		Actions: []*overloadv3.OverloadAction{
			heapAction("envoy.overload_actions.shrink_heap", 0.80),
			heapAction("envoy.overload_actions.disable_http_keepalive", 0.85),
			heapAction("envoy.overload_actions.stop_accepting_requests", refuseFrom),
			{
				Name: "envoy.overload_actions.reset_high_memory_stream",
				Triggers: []*overloadv3.Trigger{{Name: heapMonitor, TriggerOneof: &overloadv3.Trigger_Scaled{
					Scaled: &overloadv3.ScaledTrigger{ScalingThreshold: resetFrom, SaturationThreshold: resetAll},
				}}},
			},
		},
		BufferFactoryConfig: &overloadv3.BufferFactoryConfig{MinimumAccountToTrackPowerOfTwo: accountedFrom},
	}, nil
}

func heapAction(name string, from float64) *overloadv3.OverloadAction {
	return &overloadv3.OverloadAction{Name: name, Triggers: []*overloadv3.Trigger{{
		Name: heapMonitor, TriggerOneof: &overloadv3.Trigger_Threshold{Threshold: &overloadv3.ThresholdTrigger{Value: from}},
	}}}
}

func monitor(name string, settings proto.Message) (*overloadv3.ResourceMonitor, error) {
	packed := &anypb.Any{}
	if err := anypb.MarshalFrom(packed, settings, proto.MarshalOptions{Deterministic: true}); err != nil {
		return nil, fmt.Errorf("xds: %s: %w", name, err)
	}
	return &overloadv3.ResourceMonitor{Name: name, ConfigType: &overloadv3.ResourceMonitor_TypedConfig{TypedConfig: packed}}, nil
}
