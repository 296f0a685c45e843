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

	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	heapMonitor        = "envoy.resource_monitors.fixed_heap"
	connectionsMonitor = "envoy.resource_monitors.global_downstream_max_connections"
	// overloadInterval is how often Envoy measures its heap. A client on a fast network sends 100 MB in a second.
	overloadInterval = 100 * time.Millisecond
	// accountedFrom is the size from which a stream's memory is accounted for, as a power of two: 1 MiB.
	accountedFrom = 20
	// refuseFrom is the share of the heap from which requests are refused.
	refuseFrom = 0.90
	// Between resetFrom and resetAll streams are cut, the largest first. Halfway, at refuseFrom, streams of 8 MiB are cut.
	// A client that does not read its answer holds about that much.
	resetFrom, resetAll = 0.85, 0.95
)

// Overload returns the overload manager of an Envoy, which Envoy's guide to edge proxies recommends (RATIONALE.md#73).
// The heap is the memory of Envoy itself, such as requests and answers, without the filter's VMs. As the heap fills:
//
//   - Envoy gives memory back.
//   - Clients' connections are not kept alive, and the largest HTTP/2 streams are cut. Envoy does not account for the
//     memory of HTTP/1.1 streams.
//   - New requests are refused.
//
// Connections beyond the limit are closed when they are made.
func Overload(e *config.Envoy) (*overloadv3.OverloadManager, error) {
	heap, err := monitor(heapMonitor, &heapv3.FixedHeapConfig{MaxHeapSizeBytes: uint64(e.MaxHeap)})
	if err != nil {
		return nil, err
	}
	connections, err := monitor(connectionsMonitor,
		&connectionsv3.DownstreamConnectionsConfig{MaxActiveDownstreamConnections: int64(e.MaxConnections)})
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
	return &overloadv3.ResourceMonitor{Name: name,
		ConfigType: &overloadv3.ResourceMonitor_TypedConfig{TypedConfig: packed}}, nil
}
