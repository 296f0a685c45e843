package plugin

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/filter/gateway"
	"github.com/harmonyedge/harmonyedge/harmonycore/bpe"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Table returns the vocabulary's lookup table. It is asked for once in each VM.
type Table func() []byte

// Start registers the plugin with the SDK; it is called while the module initialises.
func Start(table Table) {
	proxywasm.SetVMContext(&vm{table: table})
}

type vm struct {
	types.DefaultVMContext
	table     Table
	tokenizer *tokenizer.Tokenizer
	// scratch is the VM's, which runs one callback at a time.
	scratch exchange.Scratch
}

// OnVMStart implements types.VMContext. The vocabulary is shared by all configurations of the VM.
func (v *vm) OnVMStart(int) types.OnVMStartStatus {
	vocabulary, err := bpe.Open(v.table())
	if err != nil {
		proxywasm.LogCritical("harmony: vocabulary: " + err.Error())
		return types.OnVMStartStatusFailed
	}
	v.tokenizer = tokenizer.New(vocabulary)
	return types.OnVMStartStatusOK
}

// NewPluginContext implements types.VMContext.
func (v *vm) NewPluginContext(uint32) types.PluginContext {
	return &plugin{vm: v, streams: make(map[uint32]*stream)}
}

// plugin is one configuration at work. An update makes a new one beside it, and its streams end with the old.
type plugin struct {
	types.DefaultPluginContext
	vm      *vm
	gateway *exchange.Gateway
	// streams are those with an exchange of ours, by context id.
	streams map[uint32]*stream
}

// tickMS is how often streams are looked at for stalls.
const tickMS = 250

// OnPluginStart implements types.PluginContext. To fail is to refuse the configuration: the host keeps the last one.
func (p *plugin) OnPluginStart(int) types.OnPluginStartStatus {
	data, err := proxywasm.GetPluginConfiguration()
	if err != nil {
		proxywasm.LogCritical("harmony: no plugin configuration: " + err.Error())
		return types.OnPluginStartStatusFailed
	}
	c, err := config.Parse(data)
	if err != nil {
		proxywasm.LogCritical("harmony: " + err.Error())
		return types.OnPluginStartStatusFailed
	}
	p.gateway = gateway.New(c, p.vm.tokenizer)
	if c.StallTimeoutMS > 0 {
		if err := proxywasm.SetTickPeriodMilliSeconds(tickMS); err != nil {
			proxywasm.LogWarn("harmony: no ticks, stalled servers go unnoticed: " + err.Error())
		}
	}
	return types.OnPluginStartStatusOK
}

// NewHttpContext implements types.PluginContext.
func (p *plugin) NewHttpContext(id uint32) types.HttpContext {
	return &stream{plugin: p, id: id}
}

// OnTick implements types.PluginContext.
func (p *plugin) OnTick() {
	at := now()
	for id, s := range p.streams {
		action := s.exchange.Stalled(at)
		if action.Reply == nil && !action.Reset {
			continue
		}
		if err := proxywasm.SetEffectiveContext(id); err != nil {
			continue
		}
		if action.Reset {
			closeStream()
		} else {
			s.send(action.Reply)
		}
	}
}
