package plugin

import (
	"strconv"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/filter/internal/metrics"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// Options are what a module brings.
type Options struct {
	// Table returns the vocabulary's lookup table. Each VM calls it once.
	Table func() []byte
	// Version is the version of the module.
	Version string
	// Adapters are for [exchange.Options].
	Adapters map[string]structure.New
}

// Start registers the plugin with the SDK. The module calls it while it initialises.
func Start(o Options) { proxywasm.SetVMContext(New(o)) }

// New returns what [Start] registers.
func New(o Options) types.VMContext { return &vm{Options: o} }

type vm struct {
	types.DefaultVMContext
	Options
	tokenizer *tokenizer.Tokenizer
	// keys are the keys that seal reasoning, or nil.
	keys *seal.Keys
	// refusesFirst reports whether every invalid configuration is refused, including the first one.
	refusesFirst bool
	// scratch is shared by all streams of the VM, which runs one callback at a time.
	scratch exchange.Scratch
	// prefixes are the remembered beginnings of requests, or nil.
	prefixes *prefixmemory.Memory
	// turns are the outlines of prompts, or nil.
	turns *segments.Memory
	// held counts what the host holds of requests that are still being received.
	held    held
	metrics *metrics.Set
	// failures are the lines about attempts that have failed before their first token.
	failures contract.AttemptLog
	heap     heap
	// tapKey is the key of the tap, or empty. tappers belong to the configurations in use, the newest last, and blocks
	// are what they share.
	tapKey  string
	tappers []*tapper
	blocks  blocks
	// readers are the servers that read prompts, and aborts the calls of them that are to be aborted. chooses is
	// [vm.bootstrap], made once.
	readers readers
	aborts  []*exchange.Prefill
	chooses func(servers []string) (at int, room uint64)
	// digits is memory for the numbers of the access log.
	digits [20]byte
}

// OnVMStart implements [types.VMContext]. All configurations of the VM share one vocabulary: Envoy calls OnVMStart
// again for each of them, and would otherwise have one vocabulary for each.
func (v *vm) OnVMStart(int) types.OnVMStartStatus {
	if v.tokenizer != nil {
		return types.OnVMStartStatusOK
	}
	arenaHeap = &v.heap
	t, err := tokenizer.New(v.Table())
	if err != nil {
		proxywasm.LogCritical("harmony: vocabulary: " + err.Error())
		return types.OnVMStartStatusFailed
	}
	v.tokenizer = t
	if v.keys, err = seal.ParseKeys(environment(contract.SealKeysVariable)); err != nil {
		proxywasm.LogCritical("harmony: " + contract.SealKeysVariable + ": " + err.Error())
		return types.OnVMStartStatusFailed
	}
	v.readers, v.chooses = readers{}, v.bootstrap
	v.tapKey, v.blocks.heap = environment(contract.TapKeyVariable), &v.heap
	v.refusesFirst = environment(contract.ErrorVariable) == contract.ErrorRefuse
	v.metrics = metrics.NewSet(hostMetrics{})
	v.heap.id, v.heap.paused = randomNumber(), v.metrics.Collected
	return types.OnVMStartStatusOK
}

// NewPluginContext implements [types.VMContext].
func (v *vm) NewPluginContext(uint32) types.PluginContext {
	return &plugin{vm: v}
}

// plugin is one configuration in use. An update creates a new plugin beside it. The old plugin's streams stay with it
// until they end.
type plugin struct {
	types.DefaultPluginContext
	vm      *vm
	gateway *exchange.Gateway
	// attempts are those whose answers are awaited. It is nil but for the configuration of the attempts' filter, which has
	// no gateway.
	attempts *attempts
	// memoryLimit is how much of the heap may be in use, in bytes.
	memoryLimit uint64
	// heldLimit is how much the host may hold of requests that are still being received, in bytes.
	heldLimit int
	// configuration is the configuration's fingerprint in metrics. It is empty for an invalid configuration.
	configuration string
	// traced reports whether the host makes spans.
	traced bool
	// editRefusalLogged reports whether the refusal of edits by the host has been logged.
	editRefusalLogged bool
	// showsBodies reports whether the host has shown the body of a request whose headers were held.
	showsBodies bool
	// streams are the streams with an exchange.
	streams []*stream
	// models are the configured models. tap sends what is seen of tapped requests. It is nil if none is ever tapped.
	models []contract.Model
	tap    *tapper
	// keepsDestination reports whether a model's requests keep their [contract.DestinationHeader].
	keepsDestination bool
}

// tickMS is the interval, in milliseconds, at which the filter looks for stalled streams and measures the heap.
const tickMS = 250

// OnPluginStart implements [types.PluginContext]. If it fails, the host refuses the configuration and keeps the last
// one.
func (p *plugin) OnPluginStart(int) types.OnPluginStartStatus {
	if isAttempts() {
		return p.startAttempts()
	}
	data, err := proxywasm.GetPluginConfiguration()
	if err != nil {
		data = nil // the host reports an empty configuration as missing
	}
	c, err := config.Parse(data)
	if err != nil {
		return p.misconfigured(data, err)
	}
	options := exchange.Options{
		Config: *c, Tokenizer: p.vm.tokenizer, SealKeys: p.vm.keys, Adapters: p.vm.Adapters,
		Prefixes: p.vm.remember(c.PrefixMemory), Turns: p.vm.outlines(c.CacheReasons),
	}
	if i := options.UnknownAdapter(); i >= 0 {
		return p.misconfigured(data, &config.Error{
			Path: "models[" + strconv.Itoa(i) + "].speaks", Reason: "this filter has no adapter " + c.Models[i].Speaks,
		})
	}
	share(configuredKey)
	p.gateway, p.models = exchange.New(options), c.Models
	for i := range p.models {
		p.keepsDestination = p.keepsDestination || p.models[i].Routing.Destination
	}
	p.memoryLimit = uint64(c.MemoryLimit)
	p.heldLimit = max(c.MemoryLimit, c.BodyLimit) // one request can always be received
	arenaLimit = max(arenaLimit, c.BodyLimit+arenaSlack)
	p.configuration, p.traced = fingerprint(data), c.Tracing
	p.tap = p.newTapper(&c.Tap)
	p.vm.metrics.HeapLimit(c.MemoryLimit)
	p.vm.metrics.Counted(c.Clients.Counted)
	p.vm.metrics.Configured(p.vm.Version, p.configuration, c.Models)
	declareNumbers()
	if err := proxywasm.SetTickPeriodMilliSeconds(tickMS); err != nil {
		proxywasm.LogWarn("harmony: no ticks, stalled servers and a full heap go unnoticed: " + err.Error())
	}
	return types.OnPluginStartStatusOK
}

// fingerprint returns the FNV-1a hash of a configuration in hexadecimal digits.
func fingerprint(data []byte) string {
	hash := uint32(2166136261)
	for _, c := range data {
		hash = (hash ^ uint32(c)) * 16777619
	}
	const digits = "0123456789abcdef"
	var text [8]byte
	for i := range text {
		text[i] = digits[hash>>(28-4*i)&15]
	}
	return string(text[:])
}

// OnPluginDone implements [types.PluginContext]. The configuration is no longer in force.
func (p *plugin) OnPluginDone() bool {
	if p.configuration != "" {
		p.vm.metrics.Dropped(p.vm.Version, p.configuration)
	}
	return p.tap == nil || p.tap.leave()
}

// NewHttpContext implements [types.PluginContext].
func (p *plugin) NewHttpContext(id uint32) types.HttpContext {
	if p.attempts != nil {
		return &attempt{of: p.attempts, id: id}
	}
	p.vm.heap.begin()
	return &stream{plugin: p, id: id}
}

// OnTick implements [types.PluginContext].
func (p *plugin) OnTick() {
	at := now()
	if p.attempts != nil {
		p.attempts.tick(at)
		return
	}
	if p.tap != nil && !p.tap.tick(at) {
		return
	}
	p.vm.metrics.FlushChunks()
	if !p.vm.heap.admit(0, p.memoryLimit) || p.vm.heap.lacked() {
		p.vm.forget()
	}
	stuck := p.vm.heap.enforce(p.memoryLimit, at)
	if m := p.vm.prefixes; m != nil {
		p.vm.metrics.Prefixes(maxInUse(prefixesKey, p.vm.heap.id, uint64(m.Bytes()), at))
	}
	p.vm.metrics.Heap(maxInUse(heapsKey, p.vm.heap.id, p.vm.heap.inUse, at))
	if stuck {
		p.vm.endFull(p.memoryLimit)
	}
	p.vm.held.makeRoom(p.heldLimit)
	p.refuseUnshown(at)
	p.vm.readers.forget(at)
	p.vm.sendAborts()
	for i := len(p.streams) - 1; i >= 0; i-- {
		if i >= len(p.streams) {
			continue // an action has ended streams
		}
		s := p.streams[i]
		// An exchange that reports a stalled server has given up, so the host must be able to act on it.
		if s.exchange.Overdue(at) && check("choose stream", proxywasm.SetEffectiveContext(s.id)) {
			if action := s.exchange.Stalled(at); action.Reset || action.Reply != nil {
				s.act(action)
			}
		}
	}
}

// begin and end keep account of a stream with an exchange.
func (p *plugin) begin(s *stream) {
	s.at = len(p.streams)
	p.streams = append(p.streams, s)
}

func (p *plugin) end(s *stream) {
	n := len(p.streams) - 1
	if n < s.at || p.streams[s.at] != s {
		return
	}
	last := p.streams[n]
	p.streams[s.at], last.at = last, s.at
	p.streams[n] = nil
	p.streams = p.streams[:n]
}

// edited reports whether the host made a change to a request. If it did not, its settings do not fit the filter's mode,
// and it will refuse all changes. edited logs that once.
func (p *plugin) edited(call string, err error) bool {
	if err != nil && !p.editRefusalLogged {
		p.editRefusalLogged = true
		proxywasm.LogError("harmony: " + call + ": " + err.Error() +
			"; requests are answered 500, because the proxy lets none be rewritten: see docs/modes.md")
	}
	return err == nil
}
