package xds

import (
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// referencePrefix begins a reference. No path that Envoy could open on a usual machine begins so: an Envoy that gets
// the reference itself refuses it.
const referencePrefix = "sha256:"

// Reference returns what stands for a module's path while the module's content is elsewhere. The argument is
// the content's checksum, in hexadecimal digits. [Vary] puts the content in its place for each Envoy. So what the
// control plane compares, and what it saves, stays small (RATIONALE.md#114).
func Reference(sha256 string) string { return referencePrefix + sha256 }

// Referenced returns the checksum of the module to which the filter's configuration refers, or "" if it has a path on
// Envoy's machine or is something else.
func Referenced(config *corev3.TypedExtensionConfig) string {
	filter := &wasmfilterv3.Wasm{}
	if config.GetTypedConfig().UnmarshalTo(filter) != nil {
		return ""
	}
	sum, ok := strings.CutPrefix(filter.GetConfig().GetVmConfig().GetCode().GetLocal().GetFilename(), referencePrefix)
	if !ok {
		return ""
	}
	return sum
}

// Refer returns a configuration of the filter that refers to another module, with the same settings. A configuration
// without a reference is returned unchanged.
func Refer(config *corev3.TypedExtensionConfig, sha256 string) *corev3.TypedExtensionConfig {
	filter := &wasmfilterv3.Wasm{}
	if Referenced(config) == "" || config.GetTypedConfig().UnmarshalTo(filter) != nil {
		return config
	}
	filter.GetConfig().GetVmConfig().GetCode().GetLocal().Specifier = &corev3.DataSource_Filename{
		Filename: Reference(sha256)}
	packed := &anypb.Any{}
	if err := anypb.MarshalFrom(packed, filter, proto.MarshalOptions{Deterministic: true}); err != nil {
		return config // cannot happen: it was a message before
	}
	return &corev3.TypedExtensionConfig{Name: config.GetName(), TypedConfig: packed}
}
