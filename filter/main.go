// Command filter is the proxy-wasm module harmony-filter.wasm.
package main

import "github.com/harmonyedge/harmonyedge/filter/module"

// version is set when the module is built (tools/build-filter.sh). It has no value here because TinyGo's linker flag
// does not set a variable that has one.
var version string

func main() {}

func init() {
	if version == "" {
		version = "unknown"
	}
	module.Start(module.Options{Version: version})
}
