package wasmfile

// The opcodes of instructions (WebAssembly Core Specification 2.0, 5.4). Those behind the prefix 0xfc have it as their
// second byte here.
const (
	OpUnreachable  = 0x00
	OpNop          = 0x01
	OpBlock        = 0x02
	OpLoop         = 0x03
	OpIf           = 0x04
	OpElse         = 0x05
	OpEnd          = 0x0b
	OpBr           = 0x0c
	OpBrIf         = 0x0d
	OpBrTable      = 0x0e
	OpReturn       = 0x0f
	OpCall         = 0x10
	OpCallIndirect = 0x11
	OpGlobalGet    = 0x23
	OpGlobalSet    = 0x24
	OpI32Const     = 0x41
	OpI64Const     = 0x42
	OpI64Add       = 0x7c
	OpI64ShrU      = 0x88
	OpI64ExtendU   = 0xad
	OpMemoryCopy   = opPrefix<<8 | 10
	OpMemoryFill   = opPrefix<<8 | 11

	opDrop        = 0x1a
	opSelect      = 0x1b
	opSelectTyped = 0x1c
	opLocalGet    = 0x20
	opTableSet    = 0x26
	opLoad        = 0x28 // the first of the loads and stores
	opStore       = 0x3e // the last
	opMemorySize  = 0x3f
	opMemoryGrow  = 0x40
	opF32Const    = 0x43
	opF64Const    = 0x44
	opI32Eqz      = 0x45 // the first of those without operands of their own
	opExtend32    = 0xc4 // the last
	opPrefix      = 0xfc
	opTruncate    = opPrefix<<8 | 7 // the last of eight
	opMemoryInit  = opPrefix<<8 | 8
	opDataDrop    = opPrefix<<8 | 9
)

// Locals reads the declarations of a function's locals, with which its body begins.
func (r *Reader) Locals() bool {
	n, ok := r.Uint()
	for i := 0; ok && i < n; i++ {
		_, number := r.Uint()
		_, kind := r.Byte()
		ok = number && kind
	}
	return ok
}

// Instruction reads one instruction and returns its opcode.
func (r *Reader) Instruction() (op int, ok bool) {
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
	case op <= OpNop, op == OpElse, op == OpEnd, op == OpReturn, op == opDrop, op == opSelect,
		opI32Eqz <= op && op <= opExtend32, opPrefix<<8 <= op && op <= opTruncate:
		return op, true
	case op <= OpIf, op == OpBr, op == OpBrIf, op == OpCall, opLocalGet <= op && op <= opTableSet, op == opMemorySize,
		op == opMemoryGrow, op == OpI32Const, op == OpI64Const, op == opDataDrop, op == OpMemoryFill:
		return op, r.skipNumbers(1)
	case op == OpCallIndirect, opLoad <= op && op <= opStore, op == opMemoryInit, op == OpMemoryCopy:
		return op, r.skipNumbers(2)
	case op == OpBrTable, op == opSelectTyped:
		n, ok := r.Uint()
		if op == OpBrTable {
			n++ // the default
		}
		return op, ok && r.skipNumbers(n)
	case op == opF32Const:
		return op, r.skipBytes(4)
	case op == opF64Const:
		return op, r.skipBytes(8)
	}
	return 0, false
}

// skipNumbers reads n numbers in LEB128 of any size.
func (r *Reader) skipNumbers(n int) bool {
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

func (r *Reader) skipBytes(n int) bool {
	for range n {
		if _, ok := r.Byte(); !ok {
			return false
		}
	}
	return true
}
