// Package wasmcount counts the instructions that a WebAssembly module executes: in all, and by function. The same work
// gives the same counts on every machine. Times do not.
//
// It knows the binary format and wazero. It does not know what the module does.
package wasmcount

import (
	"encoding/binary"
	"errors"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// counterName is the export that holds the count.
const counterName = "wasmcount_instructions"

// globals are the two variables that a counting module has beyond its own: the count (i64), and the number of bytes
// that a memory.copy or memory.fill is asked for (i32). Both begin with 0.
var globals = []byte{typeI64, mutable, wasmfile.OpI64Const, 0, wasmfile.OpEnd,
	typeI32, mutable, wasmfile.OpI32Const, 0, wasmfile.OpEnd}

const (
	typeI32, typeI64 = 0x7f, 0x7e
	mutable          = 1
	exportsGlobal    = 3
)

// Instrument returns the module with a counter of the instructions that it executes, which [Counter] reads. Only
// modules with variables of their own, and no imports but functions, can be instrumented.
func Instrument(module []byte) ([]byte, error) {
	sections, err := wasmfile.Split(module)
	if err != nil {
		return nil, err
	}
	var c code
	for i := range sections {
		s := &sections[i]
		r := wasmfile.Reader{Rest: s.Content}
		switch s.ID {
		case wasmfile.Import, wasmfile.Global, wasmfile.Export, wasmfile.Code:
		default:
			continue
		}
		n, ok := r.Uint()
		switch s.ID {
		case wasmfile.Import:
			for i := 0; ok && i < n; i++ {
				_, _, ok = r.FunctionImport()
			}
		case wasmfile.Global:
			c.count, c.size = uint64(n), uint64(n)+1
			s.Content = append(append(binary.AppendUvarint(nil, uint64(n)+2), r.Rest...), globals...)
		case wasmfile.Export:
			s.Content = append(binary.AppendUvarint(nil, uint64(n)+1), r.Rest...)
			s.Content = append(wasmfile.AppendSized(s.Content, []byte(counterName)), exportsGlobal)
			s.Content = binary.AppendUvarint(s.Content, c.count)
		case wasmfile.Code:
			if c.size == 0 {
				return nil, errors.New("wasmcount: the module has no variables")
			}
			s.Content = binary.AppendUvarint(nil, uint64(n))
			for i := 0; ok && i < n; i++ {
				var body []byte
				if body, ok = r.Sized(); ok {
					body, ok = c.function(body)
					s.Content = wasmfile.AppendSized(s.Content, body)
				}
			}
		}
		if !ok {
			return nil, wasmfile.ErrMalformed
		}
	}
	return wasmfile.Join(sections), nil
}
