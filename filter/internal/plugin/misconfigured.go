package plugin

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// What the VMs of a process share, in data that the host keeps for them.
const (
	// configuredKey is there after the first configuration that was right.
	configuredKey = "harmony.configured"
	// takenPrefix goes before the fingerprint of a wrong one that was taken.
	takenPrefix = "harmony.taken."
)

// misconfigured decides what becomes of a wrong configuration. An update is refused: the host then keeps what it has.
// One that comes before any that is right is taken, for there is nothing to keep, and the host, which may serve others
// besides, would not start. The gateway then answers every request for the API with an error.
//
// The host asks one VM first, and then all others. The host holds them to what the first decided, so they must decide
// alike, whatever has come in between. The first VM alone logs and counts the mistake.
func (p *plugin) misconfigured(data []byte, reason error) types.OnPluginStartStatus {
	taken := takenPrefix + fingerprint(data)
	if shared(taken) {
		p.gateway = exchange.Misconfigured()
		return types.OnPluginStartStatusOK
	}
	p.vm.metrics.ConfigError()
	if p.vm.refuses || shared(configuredKey) {
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
