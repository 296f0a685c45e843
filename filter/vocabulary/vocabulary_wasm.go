//go:build wasm

package vocabulary

import (
	_ "embed"
	"unsafe"

	"github.com/harmonyedge/harmonyedge/filter/internal/gcroots"
)

// table is a string, because the linker places strings among the constants and slices among the variables. The heap
// begins after both, so the collector neither scans the table nor accounts for it (RATIONALE.md#8). tools/vocabtable
// writes the file.
//
//go:embed o200k.table
var table string

// Table returns the table, which must not be written to. It also makes the collector skip the constants: with the
// table, a collection would otherwise take ten times as long.
func Table() []byte {
	gcroots.SkipConstants()
	return unsafe.Slice(unsafe.StringData(table), len(table))
}
