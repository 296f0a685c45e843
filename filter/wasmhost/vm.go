package wasmhost

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// rootID is the context id of the plugin itself; streams have higher ids.
const rootID = 1

// vm is one instance of the module. It runs one call at a time, under its worker's lock.
type vm struct {
	worker *Worker
	ctx    context.Context //nolint:containedctx // carries the VM to the host functions
	module api.Module
	memory api.Memory
	malloc api.Function

	calls map[string]api.Function
	// streams are the contexts that have been created and not deleted.
	streams map[uint32]*Stream
	nextID  uint32
	// active is the stream of the running call, or the one that the filter has chosen; nil means the plugin itself.
	active *Stream
	// afterCall are the actions to run when the current call ends.
	afterCall []func()
	failed    bool
	// allocating reports whether the module's malloc is running.
	allocating bool
	// buffers can be read while the filter starts; callout is the reply that the filter is being called for.
	buffers map[uint32][]byte
	callout *CalloutReply
	// tick is the time between two ticks, next the time of the next one.
	tick time.Duration
	next time.Time
}

type vmKey struct{}

// vmOf returns the VM whose call a host function serves.
func vmOf(ctx context.Context) *vm {
	v, _ := ctx.Value(vmKey{}).(*vm)
	return v
}

// newVM instantiates the module and starts the plugin in it.
func newVM(w *Worker) (*vm, error) {
	h := w.host
	v := &vm{worker: w, calls: map[string]api.Function{}, streams: map[uint32]*Stream{}, nextID: rootID + 1,
		buffers: map[uint32][]byte{}}
	v.ctx = context.WithValue(h.ctx, vmKey{}, v)
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithStdout(&lines{host: h, level: Info}).WithStderr(&lines{host: h, level: Error}).
		WithWalltime(func() (int64, int32) { t := h.options.Now(); return t.Unix(), int32(t.Nanosecond()) },
			sys.ClockResolution(1)).
		WithNanotime(func() int64 { return h.options.Now().UnixNano() }, sys.ClockResolution(1))
	if h.options.Random == nil {
		config = config.WithRandSource(rand.Reader) // wazero's default is the same sequence in every process
	} else {
		config = config.WithRandSource(h.options.Random)
	}
	for name, value := range h.plugin.Environment {
		config = config.WithEnv(name, value)
	}
	module, err := h.runtime.InstantiateModule(v.ctx, h.module, config)
	if err != nil {
		return nil, fmt.Errorf("the module cannot be instantiated: %w", err)
	}
	v.module = module
	if err := v.start(); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

func (v *vm) start() error {
	if v.memory = v.module.Memory(); v.memory == nil {
		return fmt.Errorf("the module exports no memory")
	}
	// Envoy prefers malloc to proxy_on_memory_allocate.
	for _, name := range []string{"malloc", "proxy_on_memory_allocate"} {
		if v.malloc == nil {
			v.malloc = v.module.ExportedFunction(name)
		}
	}
	if v.malloc == nil {
		return fmt.Errorf("the module exports neither malloc nor proxy_on_memory_allocate")
	}
	for name := range v.module.ExportedFunctionDefinitions() {
		v.calls[name] = v.module.ExportedFunction(name)
	}
	if _, reactor := v.calls["_initialize"]; reactor {
		v.call(nil, "_initialize")
	} else {
		v.call(nil, "_start")
	}
	p := &v.worker.host.plugin
	v.call(nil, "proxy_on_context_create", rootID, 0)
	v.buffers[bufferVMConfiguration] = p.VMConfiguration
	started := v.callBool(nil, "proxy_on_vm_start", rootID, uint64(len(p.VMConfiguration)))
	delete(v.buffers, bufferVMConfiguration)
	if !v.failed && !started {
		return fmt.Errorf("the filter refused its VM configuration (proxy_on_vm_start)")
	}
	configuration := v.worker.host.Configuration()
	v.buffers[bufferPluginConfiguration] = configuration
	configured := v.callBool(nil, "proxy_on_configure", rootID, uint64(len(configuration)))
	delete(v.buffers, bufferPluginConfiguration)
	switch {
	case v.failed:
		return fmt.Errorf("the filter failed while it was started")
	case !configured:
		return fmt.Errorf("the filter refused its configuration (proxy_on_configure)")
	}
	return nil
}

func (v *vm) close() {
	// Closing only frees memory of this process; its error has no consequence.
	_ = v.module.Close(v.ctx)
}

// callBool calls a function that returns a boolean. A missing function counts as true.
func (v *vm) callBool(s *Stream, name string, args ...uint64) bool {
	result, ok := v.call(s, name, args...)
	return !ok || result != 0
}

// call calls a function of the module for a stream, or for the plugin itself if s is nil. It then runs the actions that
// the filter has asked for during the call. The second result reports whether there was a result: it is false if the
// module lacks the function or fails in it.
func (v *vm) call(s *Stream, name string, args ...uint64) (uint32, bool) {
	f := v.calls[name]
	if f == nil || v.failed {
		return 0, false
	}
	before := v.active
	v.active = s
	results, err := f.Call(v.ctx, args...)
	v.active = before
	if err != nil {
		v.fail(name, err)
		return 0, false
	}
	actions := v.afterCall
	v.afterCall = nil
	for _, act := range actions {
		act()
	}
	if len(results) == 0 {
		return 0, true
	}
	return api.DecodeU32(results[0]), true
}

// fail ends the VM. As in Envoy, its streams fail when they would next call it.
func (v *vm) fail(name string, err error) {
	v.failed = true
	v.afterCall = nil
	v.tick = 0
	v.worker.host.log(Critical, "Function: %s failed: %v", name, err)
}

// freeID returns the next unused context id. Ids may wrap round.
func (v *vm) freeID() uint32 {
	for v.nextID <= rootID || v.streams[v.nextID] != nil {
		v.nextID++
	}
	v.nextID++
	return v.nextID - 1
}

// allocate reserves memory in the module. It returns 0 if that fails.
func (v *vm) allocate(size int) uint32 {
	if v.allocating || v.failed {
		return 0
	}
	v.allocating = true
	defer func() { v.allocating = false }()
	results, err := v.malloc.Call(v.ctx, uint64(size))
	if err != nil {
		v.fail("malloc", err)
		return 0
	}
	if len(results) == 0 {
		return 0
	}
	return api.DecodeU32(results[0])
}
