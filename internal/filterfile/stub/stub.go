// Package stub makes the smallest files that pass for a filter, for tests of programs that hand filters out.
//
// It knows what a filter's file must have. It does not know what a filter does: no Envoy can run a stub.
package stub

import (
	"fmt"

	"github.com/harmonyedge/harmonyedge/internal/filterfile"
	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// Filter returns a file that passes for the filter of this version.
func Filter(version string) []byte {
	const abi = "proxy_abi_version_0_2_0"
	exports := append(wasmfile.AppendSized([]byte{1}, []byte(abi)), 0, 0)
	file, err := filterfile.Stamp(wasmfile.Join([]wasmfile.Section{{ID: wasmfile.Export, Content: exports}}), version)
	if err != nil {
		panic(fmt.Sprintf("the stub is no module: %v", err)) // cannot happen
	}
	return file
}
