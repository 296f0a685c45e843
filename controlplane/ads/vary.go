package ads

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// vary replaces extensions on their way to one Envoy by variants of them. Their versions stay: to Envoys that come back,
// and to the status, all variants are the same.
//
// Envoy 1.40 keeps the hash of the last configuration that it has looked at, also of one that it has refused. If the same
// comes again it acknowledges that without trying it, so the acknowledgement would prove nothing. What an Envoy has refused
// on an earlier stream, perhaps of another control plane, nobody knows: so each stream has a variant of its own.
func vary(all []*discovery.Resource, variant uint32, how func(*corev3.TypedExtensionConfig, uint32) *corev3.TypedExtensionConfig) {
	for i, r := range all {
		config := &corev3.TypedExtensionConfig{}
		if r.GetResource().UnmarshalTo(config) != nil {
			continue // cannot be: it was marshalled here
		}
		raw, err := cache.MarshalResource(how(config, variant))
		if err != nil {
			continue // cannot be either
		}
		all[i] = &discovery.Resource{
			Name: r.GetName(), Version: r.GetVersion(), Resource: &anypb.Any{TypeUrl: r.GetResource().GetTypeUrl(), Value: raw},
		}
	}
}
