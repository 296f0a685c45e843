// Command emptyfilter is a proxy-wasm module that is called for everything and does nothing: what any filter costs.
//
// It knows the SDK, and nothing of ours.
package main

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

func main() {}

func init() { proxywasm.SetVMContext(&vm{}) }

type vm struct{ types.DefaultVMContext }

// NewPluginContext implements types.VMContext.
func (*vm) NewPluginContext(uint32) types.PluginContext { return &plugin{} }

type plugin struct{ types.DefaultPluginContext }

// NewHttpContext implements types.PluginContext.
func (*plugin) NewHttpContext(uint32) types.HttpContext { return &types.DefaultHttpContext{} }
