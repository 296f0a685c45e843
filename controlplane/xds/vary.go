package xds

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// longestReload is Envoy's own default beside reloadInterval.
	longestReload = time.Second
	// variants is how many there are of a configuration: they differ within a millisecond.
	variants = uint32(time.Millisecond)
)

// Vary returns the filter's configuration in one of its variants, which mean the same and which Envoy tells apart. They
// differ in nanoseconds of the longest interval between two reloads of a VM. A variable of the VM's environment would
// make each variant a VM of its own; a space in the filter's own settings would show in harmony_build_info. Other
// configurations have no variants.
func Vary(config *corev3.TypedExtensionConfig, variant uint32) *corev3.TypedExtensionConfig {
	filter := &wasmfilterv3.Wasm{}
	if config.GetTypedConfig().UnmarshalTo(filter) != nil {
		return config
	}
	backoff := filter.GetConfig().GetReloadConfig().GetBackoff()
	if backoff == nil {
		return config
	}
	backoff.MaxInterval = durationpb.New(longestReload + time.Duration(variant%variants))
	packed := &anypb.Any{}
	if err := anypb.MarshalFrom(packed, filter, proto.MarshalOptions{Deterministic: true}); err != nil {
		return config
	}
	return &corev3.TypedExtensionConfig{Name: config.GetName(), TypedConfig: packed}
}
