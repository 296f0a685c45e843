// Command emptyfilter is a proxy-wasm module that gets every callback and does nothing. It shows the cost of any
// filter.
//
// It knows the SDK. It does not know any package of this module.
package main

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

func main() {}

func init() { proxywasm.SetVMContext(&vm{}) }

type vm struct{ types.DefaultVMContext }

// NewPluginContext implements [types.VMContext].
func (*vm) NewPluginContext(uint32) types.PluginContext { return &plugin{} }

type plugin struct{ types.DefaultPluginContext }

// NewHttpContext implements [types.PluginContext].
func (*plugin) NewHttpContext(uint32) types.HttpContext { return &types.DefaultHttpContext{} }
