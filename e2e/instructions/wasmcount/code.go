package wasmcount

import (
	"encoding/binary"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// code rewrites functions. count and size are the indices of the variables that are added.
type code struct{ count, size uint64 }

// function returns a function's body with its counting. A run is a sequence of instructions that are executed one after
// the other: it ends with a branch, or where a branch leads to. Before each run its length is added to the count. Marks,
// such as block and end, are no instructions of a machine and not counted. memory.copy and memory.fill count 1 for
// every 8 bytes, and 1 for themselves.
func (c *code) function(body []byte) ([]byte, bool) {
	r := wasmfile.Reader{Rest: body}
	ok := r.Locals()
	out := body[: len(body)-len(r.Rest) : len(body)-len(r.Rest)]
	var run []byte
	length := 0
	for ok && len(r.Rest) > 0 {
		before := r.Rest
		var op int
		if op, ok = r.Instruction(); op == wasmfile.OpMemoryCopy || op == wasmfile.OpMemoryFill {
			run = c.appendBytes(run)
		}
		run = append(run, before[:len(before)-len(r.Rest)]...)
		if !isMark(op) {
			length++
		}
		if endsRun(op) {
			if length > 0 {
				out = c.appendCount(out, length)
			}
			out = append(out, run...)
			run, length = run[:0], 0
		}
	}
	return out, ok && len(run) == 0
}

// appendCount adds n to the count.
func (c *code) appendCount(to []byte, n int) []byte {
	to = binary.AppendUvarint(append(to, wasmfile.OpGlobalGet), c.count)
	to = wasmfile.AppendSint(append(to, wasmfile.OpI64Const), n)
	return binary.AppendUvarint(append(to, wasmfile.OpI64Add, wasmfile.OpGlobalSet), c.count)
}

// appendBytes adds an eighth of the number of bytes that lies on the stack, and leaves it there.
func (c *code) appendBytes(to []byte) []byte {
	to = binary.AppendUvarint(append(to, wasmfile.OpGlobalSet), c.size)
	to = binary.AppendUvarint(append(to, wasmfile.OpGlobalGet), c.count)
	to = binary.AppendUvarint(append(to, wasmfile.OpGlobalGet), c.size)
	to = append(to, wasmfile.OpI64ExtendU, wasmfile.OpI64Const, 3, wasmfile.OpI64ShrU, wasmfile.OpI64Add)
	to = binary.AppendUvarint(append(to, wasmfile.OpGlobalSet), c.count)
	return binary.AppendUvarint(append(to, wasmfile.OpGlobalGet), c.size)
}

func isMark(op int) bool {
	switch op {
	case wasmfile.OpNop, wasmfile.OpBlock, wasmfile.OpLoop, wasmfile.OpElse, wasmfile.OpEnd:
		return true
	}
	return false
}

func endsRun(op int) bool {
	switch op {
	case wasmfile.OpLoop, wasmfile.OpIf, wasmfile.OpElse, wasmfile.OpEnd, wasmfile.OpBr, wasmfile.OpBrIf,
		wasmfile.OpBrTable, wasmfile.OpReturn, wasmfile.OpUnreachable:
		return true
	}
	return false
}
