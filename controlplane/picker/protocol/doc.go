// Package protocol has the names in the Inference Extension's endpoint picker protocol 1.0, as its release 1.6 has it,
// and those that this project adds to it.
//
// It knows names. It does not know who sends them.
package protocol

import "github.com/harmonyedge/harmonyedge/harmonycore/contract"

// The metadata of Envoy by which a picker and Envoy speak, beside the header
// [github.com/harmonyedge/harmonyedge/harmonycore/contract.DestinationHeader].
const (
	// Namespace is the namespace of the metadata. The chosen servers have the header's name in it.
	Namespace = "envoy.lb"
	// Served has the server that has answered.
	Served = "x-gateway-destination-endpoint-served"
	// SubsetNamespace has, below SubsetKey, the only servers that may be chosen.
	SubsetNamespace = "envoy.lb.subset_hint"
	SubsetKey       = "x-gateway-destination-endpoint-subset"
)

// The services of a picker whose health can be asked by gRPC (grpc.health.v1): that its program runs, that it knows
// servers, and that it takes requests.
const (
	Liveness          = "liveness"
	Readiness         = "readiness"
	ExternalProcessor = "envoy.service.ext_proc.v3.ExternalProcessor"
)

// These are this project's additions.
const (
	// PoolKey is the metadata of the gRPC call with the name of the pool whose servers may be chosen.
	PoolKey = "x-harmony-pool"
	// OwnNamespace is the namespace of Envoy's metadata in which ReasonKey says why the first server was chosen.
	OwnNamespace = contract.PickerNamespace
	ReasonKey    = "reason"
	// QueuedKey says how many milliseconds a request has waited in the pool's queue, and ClassKey in which class.
	QueuedKey = contract.QueuedKey
	ClassKey  = contract.ClassKey
)
