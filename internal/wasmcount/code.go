package wasmcount

import (
	"encoding/binary"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// Opcodes (WebAssembly Core Specification 2.0, 5.4). Those behind the prefix 0xfc have it as their second byte here.
const (
	opNop          = 0x01
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opSelect       = 0x1b
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableSet     = 0x26
	opLoad         = 0x28 // the first of the loads and stores
	opStore        = 0x3e // the last
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI32Eqz       = 0x45 // the first of those without operands of their own
	opI64Add       = 0x7c
	opI64ShrU      = 0x88
	opI64ExtendU   = 0xad
	opExtend32     = 0xc4 // the last
	opPrefix       = 0xfc

	opTruncate   = opPrefix<<8 | 7 // the last of eight
	opMemoryInit = opPrefix<<8 | 8
	opDataDrop   = opPrefix<<8 | 9
	opMemoryCopy = opPrefix<<8 | 10
	opMemoryFill = opPrefix<<8 | 11
)

// code rewrites functions. count and size are the indices of the variables that are added.
type code struct{ count, size uint64 }

// function returns a function's body with its counting. A run is a sequence of instructions that are executed one after
// the other: it ends with a branch, or where a branch leads to. Before each run its length is added to the count. Marks,
// such as block and end, are no instructions of a machine and not counted. memory.copy and memory.fill count 1 for
// every 8 bytes, and 1 for themselves.
func (c *code) function(body []byte) ([]byte, bool) {
	r := wasmfile.Reader{Rest: body}
	declarations, ok := r.Uint()
	for i := 0; ok && i < declarations; i++ {
		_, number := r.Uint()
		_, kind := r.Byte()
		ok = number && kind
	}
	out := body[: len(body)-len(r.Rest) : len(body)-len(r.Rest)]
	var run []byte
	length := 0
	for ok && len(r.Rest) > 0 {
		before := r.Rest
		var op int
		if op, ok = instruction(&r); op == opMemoryCopy || op == opMemoryFill {
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
	to = binary.AppendUvarint(append(to, opGlobalGet), c.count)
	to = appendSigned(append(to, opI64Const), n)
	return binary.AppendUvarint(append(to, opI64Add, opGlobalSet), c.count)
}

// appendBytes adds an eighth of the number of bytes that lies on the stack, and leaves it there.
func (c *code) appendBytes(to []byte) []byte {
	to = binary.AppendUvarint(append(to, opGlobalSet), c.size)
	to = binary.AppendUvarint(append(to, opGlobalGet), c.count)
	to = binary.AppendUvarint(append(to, opGlobalGet), c.size)
	to = append(to, opI64ExtendU, opI64Const, 3, opI64ShrU, opI64Add)
	to = binary.AppendUvarint(append(to, opGlobalSet), c.count)
	return binary.AppendUvarint(append(to, opGlobalGet), c.size)
}

// appendSigned appends a positive number as signed LEB128.
func appendSigned(to []byte, n int) []byte {
	for n >= 0x40 {
		to = append(to, byte(n)|0x80)
		n >>= 7
	}
	return append(to, byte(n))
}

func isMark(op int) bool {
	return op == opNop || op == opBlock || op == opLoop || op == opElse || op == opEnd
}

func endsRun(op int) bool {
	switch op {
	case opLoop, opIf, opElse, opEnd, opBr, opBrIf, opBrTable, opReturn, 0 /* unreachable */ :
		return true
	}
	return false
}

// instruction reads one instruction and returns its opcode.
func instruction(r *wasmfile.Reader) (op int, ok bool) {
	first, ok := r.Byte()
	op = int(first)
	if op == opPrefix {
		var second int
		second, ok = r.Uint()
		op = op<<8 | second
	}
	switch {
	case !ok:
		return 0, false
	case op <= opNop, op == opElse, op == opEnd, op == opReturn, op == opDrop, op == opSelect,
		opI32Eqz <= op && op <= opExtend32, opPrefix<<8 <= op && op <= opTruncate:
		return op, true
	case op <= opIf, op == opBr, op == opBrIf, op == opCall, opLocalGet <= op && op <= opTableSet, op == opMemorySize,
		op == opMemoryGrow, op == opI32Const, op == opI64Const, op == opDataDrop, op == opMemoryFill:
		return op, skipNumbers(r, 1)
	case op == opCallIndirect, opLoad <= op && op <= opStore, op == opMemoryInit, op == opMemoryCopy:
		return op, skipNumbers(r, 2)
	case op == opBrTable, op == opSelectTyped:
		n, ok := r.Uint()
		if op == opBrTable {
			n++ // the default
		}
		return op, ok && skipNumbers(r, n)
	case op == opF32Const:
		return op, skipBytes(r, 4)
	case op == opF64Const:
		return op, skipBytes(r, 8)
	}
	return 0, false
}

// skipNumbers reads n numbers in LEB128 of any size.
func skipNumbers(r *wasmfile.Reader, n int) bool {
	for range n {
		for {
			b, ok := r.Byte()
			if !ok {
				return false
			}
			if b < 0x80 {
				break
			}
		}
	}
	return true
}

func skipBytes(r *wasmfile.Reader, n int) bool {
	for range n {
		if _, ok := r.Byte(); !ok {
			return false
		}
	}
	return true
}
