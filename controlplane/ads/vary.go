package ads

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// vary replaces extensions in a response to one Envoy by variants of them. All variants share one version, so the
// status does not tell them apart, and an Envoy that reconnects with that version is sent nothing.
//
// Envoy 1.40 keeps the hash of the last configuration that it has looked at, refused ones included. If the same
// configuration comes again, Envoy acknowledges it without trying it, and the acknowledgement proves nothing. Which
// configurations an Envoy refused on an earlier stream is not known, because that may have been a stream of another
// control plane. So each stream has a variant of its own (RATIONALE.md#90).
func vary(all []*discovery.Resource, variant uint32,
	variantOf func(*corev3.TypedExtensionConfig, uint32) *corev3.TypedExtensionConfig) {
	for i, r := range all {
		config := &corev3.TypedExtensionConfig{}
		if r.GetResource().UnmarshalTo(config) != nil {
			continue // cannot happen: it was marshalled here
		}
		raw, err := cache.MarshalResource(variantOf(config, variant))
		if err != nil {
			continue // cannot happen
		}
		all[i] = &discovery.Resource{
			Name: r.GetName(), Version: r.GetVersion(), Resource: &anypb.Any{TypeUrl: r.GetResource().GetTypeUrl(), Value: raw},
		}
	}
}
