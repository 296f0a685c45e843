package xds

import (
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// longestReload is the longest interval between two reloads of a VM. It is Envoy's default for reloadInterval.
	longestReload = time.Second
	// variants is how many variants a configuration has. They differ by less than a millisecond.
	variants = uint32(time.Millisecond)
)

// Vary returns a variant of the filter's configuration (RATIONALE.md#90). All variants have the same meaning, but Envoy
// sees that they differ: in the nanoseconds of the longest interval between two reloads of a VM. A variable of the VM's
// environment would give each variant its own VM, and a space in the filter's settings would change harmony_build_info.
// Other configurations have no variants and are returned unchanged.
//
// If the configuration has a [Reference] instead of a path, and module returns the content that it stands for, the
// variant has that content.
func Vary(config *corev3.TypedExtensionConfig, variant uint32, module func(sha256 string) []byte,
) *corev3.TypedExtensionConfig {
	filter := &wasmfilterv3.Wasm{}
	if config.GetTypedConfig().UnmarshalTo(filter) != nil {
		return config
	}
	backoff := filter.GetConfig().GetReloadConfig().GetBackoff()
	if backoff == nil {
		return config
	}
	backoff.MaxInterval = durationpb.New(longestReload + time.Duration(variant%variants))
	code := filter.GetConfig().GetVmConfig().GetCode().GetLocal()
	if sum, ok := strings.CutPrefix(code.GetFilename(), referencePrefix); ok {
		if content := module(sum); content != nil {
			code.Specifier = &corev3.DataSource_InlineBytes{InlineBytes: content}
		}
	}
	packed := &anypb.Any{}
	if err := anypb.MarshalFrom(packed, filter, proto.MarshalOptions{Deterministic: true}); err != nil {
		return config
	}
	return &corev3.TypedExtensionConfig{Name: config.GetName(), TypedConfig: packed}
}
