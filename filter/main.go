// Command filter is the proxy-wasm module harmony-filter.wasm.
//
// It connects the plugin to its vocabulary.
package main

import (
	"github.com/harmonyedge/harmonyedge/filter/internal/plugin"
	"github.com/harmonyedge/harmonyedge/filter/vocabulary"
)

// version is set when the module is built (tools/build-filter.sh). It has no value here because TinyGo's linker flag does not
// set a variable that has one.
var version string

func main() {}

func init() {
	if version == "" {
		version = "unknown"
	}
	plugin.Start(vocabulary.Table, version)
}
