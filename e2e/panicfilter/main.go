// Command panicfilter is a proxy-wasm module that panics on the third request of its VM's life. It adds the number of
// requests so far to every response.
//
// It knows the SDK. It does not know any package of this module.
package main

import (
	"strconv"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

func main() {}

func init() { proxywasm.SetVMContext(&vm{}) }

type vm struct{ types.DefaultVMContext }

// NewPluginContext implements [types.VMContext].
func (*vm) NewPluginContext(uint32) types.PluginContext { return &plugin{} }

type plugin struct {
	types.DefaultPluginContext
	requests [2]int
	count    int
}

// NewHttpContext implements [types.PluginContext].
func (p *plugin) NewHttpContext(uint32) types.HttpContext { return &stream{plugin: p} }

type stream struct {
	types.DefaultHttpContext
	plugin *plugin
}

// OnHttpRequestHeaders implements [types.HttpContext].
func (s *stream) OnHttpRequestHeaders(int, bool) types.Action {
	p := s.plugin
	p.requests[p.count]++ // the array has two elements
	p.count++
	return types.ActionContinue
}

// OnHttpResponseHeaders implements [types.HttpContext].
func (s *stream) OnHttpResponseHeaders(int, bool) types.Action {
	if err := proxywasm.AddHttpResponseHeader("x-count", strconv.Itoa(s.plugin.count)); err != nil {
		proxywasm.LogError(err.Error())
	}
	return types.ActionContinue
}
