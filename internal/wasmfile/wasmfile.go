// Package wasmfile reads the structure of a WebAssembly module: its sections, and the values in them.
//
// It knows the binary format (WebAssembly Core Specification, chapter 5). It does not know what a module is for.
package wasmfile

import (
	"encoding/binary"
	"errors"
	"strings"
)

// The ids of sections. A custom section may stand anywhere and occur often.
const (
	Custom    = 0
	Import    = 2
	Function  = 3
	Table     = 4
	Global    = 6
	Export    = 7
	Element   = 9
	Code      = 10
	Data      = 11
	DataCount = 12
	preamble  = "\x00asm\x01\x00\x00\x00"
	maxSigned = 35 // bits of the longest LEB128 of a 32-bit number
)

// ErrMalformed is the error for bytes that are not a module.
var ErrMalformed = errors.New("not a well-formed WebAssembly module")

// Section is one section of a module.
type Section struct {
	ID      byte
	Content []byte
}

// Split returns a module's sections.
func Split(module []byte) ([]Section, error) {
	if !strings.HasPrefix(string(module), preamble) {
		return nil, ErrMalformed
	}
	var sections []Section
	r := Reader{module[len(preamble):]}
	for len(r.Rest) > 0 {
		id, _ := r.Byte()
		content, ok := r.Sized()
		if !ok {
			return nil, ErrMalformed
		}
		sections = append(sections, Section{id, content})
	}
	return sections, nil
}

// Join returns the module that has these sections.
func Join(sections []Section) []byte {
	out := []byte(preamble)
	for _, s := range sections {
		out = AppendSized(append(out, s.ID), s.Content)
	}
	return out
}

// AppendSized appends the length of b, and b.
func AppendSized(to, b []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(b))), b...)
}

// AppendSint appends a number as signed LEB128.
func AppendSint(to []byte, n int) []byte {
	for n < -0x40 || n >= 0x40 {
		to = append(to, byte(n&0x7f|0x80))
		n >>= 7
	}
	return append(to, byte(n&0x7f))
}

// Reader reads values from the front of a section. The last result of each method reports whether the value was
// complete.
type Reader struct{ Rest []byte }

// Byte reads one byte.
func (r *Reader) Byte() (byte, bool) {
	if len(r.Rest) == 0 {
		return 0, false
	}
	b := r.Rest[0]
	r.Rest = r.Rest[1:]
	return b, true
}

// Uint reads an unsigned number of 32 bits.
func (r *Reader) Uint() (int, bool) {
	v, n := binary.Uvarint(r.Rest)
	if n <= 0 || v > 1<<32-1 {
		return 0, false
	}
	r.Rest = r.Rest[n:]
	return int(v), true
}

// Sint reads a signed number of 32 bits.
func (r *Reader) Sint() (int, bool) {
	v, shift := 0, 0
	for {
		b, ok := r.Byte()
		if !ok || shift > maxSigned {
			return 0, false
		}
		v |= int(b&0x7f) << shift
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 {
				v -= 1 << shift
			}
			return v, true
		}
	}
}

// Sized reads bytes that follow their number.
func (r *Reader) Sized() ([]byte, bool) {
	n, ok := r.Uint()
	if !ok || n > len(r.Rest) {
		return nil, false
	}
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b, true
}

// Name reads a name.
func (r *Reader) Name() (string, bool) {
	b, ok := r.Sized()
	return string(b), ok
}

// FunctionImport reads one import, which must be a function.
func (r *Reader) FunctionImport() (module, name string, ok bool) {
	module, ok1 := r.Name()
	name, ok2 := r.Name()
	kind, ok3 := r.Byte()
	_, ok4 := r.Uint()
	return module, name, ok1 && ok2 && ok3 && ok4 && kind == 0
}
