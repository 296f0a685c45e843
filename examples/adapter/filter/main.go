// Command filter is the filter of Harmony Edge with the adapter of package brackets:
//
//	FILTER_MODULE=examples/adapter FILTER_OUT=dist/brackets-filter.wasm tools/build-filter.sh
package main

import (
	"example.com/brackets"

	"github.com/harmonyedge/harmonyedge/filter/module"
)

// version is set when the module is built.
var version string

func main() {}

func init() { module.Start(module.Options{Version: version, Adapters: brackets.Adapters()}) }
