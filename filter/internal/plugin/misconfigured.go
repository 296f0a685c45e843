package plugin

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// The keys of data that the VMs of a process share through the host.
const (
	// configuredKey is set after the first valid configuration.
	configuredKey = "harmony.configured"
	// acceptedPrefix precedes the fingerprint of an invalid configuration that was accepted.
	acceptedPrefix = "harmony.taken."
)

// misconfigured decides what to do with an invalid configuration. An update is refused, and the host keeps the
// configuration that it has. An invalid first configuration is accepted: there is nothing to keep, and the host, which
// may serve other traffic, would not start. The gateway then answers every request for the API with an error.
//
// The host asks one VM first and then all others. They must decide as the first did, whatever has come in between. Only
// the first VM logs and counts the error.
func (p *plugin) misconfigured(data []byte, reason error) types.OnPluginStartStatus {
	taken := acceptedPrefix + fingerprint(data)
	if shared(taken) {
		p.gateway = exchange.Misconfigured()
		return types.OnPluginStartStatusOK
	}
	p.vm.metrics.ConfigError()
	if p.vm.refusesFirst || shared(configuredKey) {
		proxywasm.LogCritical("harmony: " + reason.Error() + "; the configuration is refused")
		return types.OnPluginStartStatusFailed
	}
	proxywasm.LogCritical("harmony: " + reason.Error() +
		"; requests are answered 503 until it is right: see docs/envoy.md")
	share(taken)
	p.gateway = exchange.Misconfigured()
	return types.OnPluginStartStatusOK
}

// shared reports whether a VM has shared the key.
func shared(key string) bool {
	_, _, err := proxywasm.GetSharedData(key)
	return err == nil
}

func share(key string) { check("share "+key, proxywasm.SetSharedData(key, []byte{1}, 0)) }
