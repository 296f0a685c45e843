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
	// pluginName stands in the filter's statistics (wasm.harmony.vm_reload_success) and in Envoy's log.
	pluginName = "harmony"
	// Envoy's default of a second means a second of 503 for a worker whose VM has died; with this it is milliseconds.
	reloadInterval = 100 * time.Millisecond
)

// wasm is the filter's configuration. Nothing secret may stand in it: Envoy's /config_dump prints it.
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
				HostEnvKeys: []string{contract.SealKeysVariable},
				// A configuration of ours that is wrong for the filter is refused even where Envoy has no other yet: whoever
				// sent it is to know.
				KeyValues: map[string]string{contract.ErrorVariable: contract.ErrorRefuse},
			},
		}},
		Configuration: b.any(wrapperspb.String(string(b.resolved.FilterJSON))),
		// Never FAIL_OPEN: it would send Chat JSON to a token endpoint. The default is written down differently in
		// different places, so it is always said.
		FailurePolicy: wasmv3.FailurePolicy_FAIL_RELOAD,
		ReloadConfig:  &wasmv3.ReloadConfig{Backoff: &corev3.BackoffStrategy{BaseInterval: durationpb.New(reloadInterval)}},
	}
	if b.config.Mode == contract.ModeFull {
		// The filter holds a request's headers until it has read the body; without this that would hang for good.
		plugin.AllowOnHeadersStopIteration = wrapperspb.Bool(true)
	}
	return &wasmfilterv3.Wasm{Config: plugin}
}
