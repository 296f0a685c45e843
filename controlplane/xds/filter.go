package xds

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const (
	// pluginName is the filter's name in Envoy's statistics (wasm.harmony.vm_reload_success) and in Envoy's log.
	pluginName = "harmony"
	// reloadInterval is how long Envoy waits before it replaces a VM that has died. Until then the worker answers 503.
	// With Envoy's default that is a second.
	reloadInterval = 100 * time.Millisecond
)

// wasm returns the filter's configuration. It must not contain secrets, because Envoy's /config_dump prints it.
func (b *builder) wasm() *wasmfilterv3.Wasm {
	plugin := &wasmv3.PluginConfig{
		Name:   pluginName,
		RootId: pluginName,
		Vm: &wasmv3.PluginConfig_VmConfig{VmConfig: &wasmv3.VmConfig{
			VmId:    pluginName,
			Runtime: "envoy.wasm.runtime.v8",
			Code: &corev3.AsyncDataSource{Specifier: &corev3.AsyncDataSource_Local{Local: &corev3.DataSource{
				Specifier: &corev3.DataSource_Filename{Filename: b.options.ModulePath},
			}}},
			EnvironmentVariables: &wasmv3.EnvironmentVariables{
				HostEnvKeys: []string{contract.SealKeysVariable, contract.TapKeyVariable},
				// With this, Envoy refuses a configuration that is wrong for the filter even if it is the first one. The control
				// plane then learns of it (RATIONALE.md#62).
				KeyValues: map[string]string{contract.ErrorVariable: contract.ErrorRefuse},
			},
		}},
		Configuration: b.any(wrapperspb.String(string(b.filterJSON()))),
		// Never FAIL_OPEN: it would send Chat JSON to a token endpoint. The documented default differs from place to place,
		// so the policy is always set.
		FailurePolicy: wasmv3.FailurePolicy_FAIL_RELOAD,
		ReloadConfig:  &wasmv3.ReloadConfig{Backoff: &corev3.BackoffStrategy{BaseInterval: durationpb.New(reloadInterval)}},
	}
	if b.config.Mode == contract.ModeFull {
		// The filter holds a request's headers until it has read the body. Without this setting that request would hang for
		// ever.
		plugin.AllowOnHeadersStopIteration = wrapperspb.Bool(true)
	}
	return &wasmfilterv3.Wasm{Config: plugin}
}

// FilterJSON returns the filter's JSON in the configuration that Envoys discover, or nil if there is none.
func FilterJSON(c *corev3.TypedExtensionConfig) []byte {
	var wasm wasmfilterv3.Wasm
	var text wrapperspb.StringValue
	if c.GetTypedConfig().UnmarshalTo(&wasm) != nil || wasm.GetConfig().GetConfiguration().UnmarshalTo(&text) != nil {
		return nil
	}
	return []byte(text.GetValue())
}
