package main

import "encoding/binary"

const (
	typeI32  = 0x7f
	typeFunc = 0x60

	kindFunc   = 0x00
	kindMemory = 0x02

	opLocalGet = 0x20
	opI32Const = 0x41
	opEnd      = 0x0b
	opPrefixFC = 0xfc // memory.init is 0xfc 8 segment memory
)

// encode returns a module that exports size() -> i32 and copy(ptr i32), which writes the table to ptr.
//
// The order of sections and the opcodes are those of the WebAssembly core specification, version 2, chapter 5.
func encode(table []byte) []byte {
	size := int32(len(table))

	module := []byte("\x00asm\x01\x00\x00\x00")
	module = section(module, 1, vector(
		[]byte{typeFunc, 0, 1, typeI32}, // 0: () -> i32
		[]byte{typeFunc, 1, typeI32, 0}, // 1: (i32) -> ()
	))
	module = section(module, 2, vector(
		join(name("harmony_filter"), name("memory"), []byte{kindMemory, 0, 1}), // at least one page, no maximum
	))
	module = section(module, 3, vector([]byte{0}, []byte{1}))
	module = section(module, 7, vector(
		join(name("size"), []byte{kindFunc, 0}),
		join(name("copy"), []byte{kindFunc, 1}),
	))
	module = section(module, 12, []byte{1}) // one data segment
	module = section(module, 10, vector(
		body(join([]byte{opI32Const}, signed(size))),
		body(join(
			[]byte{opLocalGet, 0},            // destination
			[]byte{opI32Const, 0},            // offset in the segment
			[]byte{opI32Const}, signed(size), // the whole segment
			[]byte{opPrefixFC, 8, 0, 0},
		)),
	))
	module = section(module, 11, vector(
		join([]byte{1}, sized(table)), // 1: a passive segment
	))
	return module
}

func section(module []byte, id byte, content []byte) []byte {
	return append(append(module, id), sized(content)...)
}

func vector(items ...[]byte) []byte {
	return append(unsigned(len(items)), join(items...)...)
}

// body encodes a function without locals.
func body(code []byte) []byte { return sized(join([]byte{0}, code, []byte{opEnd})) }

func name(s string) []byte { return sized([]byte(s)) }

func sized(b []byte) []byte { return append(unsigned(len(b)), b...) }

func join(parts ...[]byte) []byte {
	var all []byte
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

func unsigned(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// signed encodes signed LEB128, which encoding/binary lacks: its varints are zigzag.
func signed(n int32) []byte {
	var out []byte
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
