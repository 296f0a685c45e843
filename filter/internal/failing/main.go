// Command failing is the filter with a fault: each of its VMs panics at every tenth request. It is for tests of what
// becomes of such a filter.
//
// It knows the SDK and the filter as a whole. It does not know what the filter does with a request.
package main

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/filter/internal/plugin"
	"github.com/harmonyedge/harmonyedge/filter/vocabulary"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// well is how many requests go well before one that does not.
const well = 9

func main() {}

func init() {
	proxywasm.SetVMContext(&vm{VMContext: plugin.New(plugin.Options{Table: vocabulary.Table, Version: "failing"})})
}

// vm is the filter's, with a count of requests.
type vm struct {
	types.VMContext
	requests int
}

// NewPluginContext implements [types.VMContext].
func (v *vm) NewPluginContext(id uint32) types.PluginContext {
	return &configured{PluginContext: v.VMContext.NewPluginContext(id), vm: v}
}

type configured struct {
	types.PluginContext
	vm *vm
}

// NewHttpContext implements [types.PluginContext].
func (p *configured) NewHttpContext(id uint32) types.HttpContext {
	return &stream{HttpContext: p.PluginContext.NewHttpContext(id), vm: p.vm}
}

type stream struct {
	types.HttpContext
	vm *vm
}

// OnHttpRequestHeaders implements [types.HttpContext].
func (s *stream) OnHttpRequestHeaders(headers int, end bool) types.Action {
	path, err := proxywasm.GetHttpRequestHeader(":path")
	if err != nil || path != contract.ChatPath {
		return s.HttpContext.OnHttpRequestHeaders(headers, end) // an attempt at a server is no request of its own
	}
	if s.vm.requests++; s.vm.requests > well {
		panic("this filter fails one request in ten")
	}
	return s.HttpContext.OnHttpRequestHeaders(headers, end)
}
