// Command filter is the proxy-wasm module harmony-filter.wasm.
//
// It knows how to wire the plugin to its vocabulary, and nothing else.
package main

import (
	"github.com/harmonyedge/harmonyedge/filter/plugin"
	"github.com/harmonyedge/harmonyedge/filter/vocabulary"
)

// version is set when the module is built (tools/build-filter.sh).
var version = "unknown"

func main() {}

func init() { plugin.Start(vocabulary.Table, version) }
