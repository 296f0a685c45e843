package main

import (
	"encoding/binary"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// largestDirect is the size, in bytes, of the largest function that is called directly.
const largestDirect = 64

// limitInlining makes the calls of functions larger than largestDirect indirect, because V8 does not inline indirect
// calls. Envoy runs V8 without its baseline compiler, so V8 does not know which calls are frequent. It inlines them in
// the order in which they stand, until a function has 60 others in it or has no room left, which is twice its size
// (NoLiftoffBudget in V8's src/wasm/inlining-tree.h). That doubled the time of compilation: see RATIONALE.md#108.
//
// The functions are added to the module's table. A module without a table stays as it is.
func limitInlining(sections []wasmfile.Section) error {
	var table, elements, code *wasmfile.Section
	var c calls
	ok := true
	for i := range sections {
		s := &sections[i]
		r := wasmfile.Reader{Rest: s.Content}
		switch s.ID {
		case wasmfile.Import:
			c.imported, ok = imports(&r)
		case wasmfile.Function:
			c.types, ok = numbers(&r)
		case wasmfile.Table:
			table = s
		case wasmfile.Element:
			elements = s
		case wasmfile.Code:
			code = s
		}
		if !ok {
			return wasmfile.ErrMalformed
		}
	}
	if table == nil {
		return nil
	}
	if elements == nil || code == nil || !c.readTable(table.Content) || !c.readSizes(code.Content) ||
		!rewrite(code, c.function) || !c.extend(table, elements) {
		return wasmfile.ErrMalformed
	}
	return nil
}

// calls are the calls of a module.
type calls struct {
	// imported is the number of imported functions, whose indices come first.
	imported int
	// types and sizes are for the module's own functions.
	types, sizes []int
	// limits says whether the table has a largest size. first is its first free slot.
	limits byte
	first  int
	// slots are the slots of the functions that are called indirectly from now on, and called are these functions in the
	// order of their slots.
	slots  map[int]int
	called []int
}

// rewrite changes all functions. The number of a function does not count those that are imported.
func rewrite(code *wasmfile.Section, change func(number int, body []byte) ([]byte, bool)) bool {
	r := wasmfile.Reader{Rest: code.Content}
	n, ok := r.Uint()
	out := binary.AppendUvarint(nil, uint64(n))
	for i := 0; ok && i < n; i++ {
		var body []byte
		if body, ok = r.Sized(); ok {
			body, ok = change(i, body)
			out = wasmfile.AppendSized(out, body)
		}
	}
	code.Content = out
	return ok
}

// imports returns the number of imports, all of which must be functions.
func imports(r *wasmfile.Reader) (int, bool) {
	n, ok := r.Uint()
	for i := 0; ok && i < n; i++ {
		_, _, ok = r.FunctionImport()
	}
	return n, ok
}

// numbers reads numbers that follow their number.
func numbers(r *wasmfile.Reader) ([]int, bool) {
	n, ok := r.Uint()
	var all []int
	for i := 0; ok && i < n; i++ {
		var v int
		v, ok = r.Uint()
		all = append(all, v)
	}
	return all, ok
}

const funcref, hasMaximum = 0x70, 1

func (c *calls) readTable(content []byte) bool {
	r := wasmfile.Reader{Rest: content}
	tables, ok1 := r.Uint()
	kind, ok2 := r.Byte()
	limits, ok3 := r.Byte()
	size, ok4 := r.Uint()
	c.limits, c.first, c.slots = limits, size, map[int]int{}
	return ok1 && ok2 && ok3 && ok4 && tables == 1 && kind == funcref && limits <= hasMaximum
}

func (c *calls) readSizes(content []byte) bool {
	r := wasmfile.Reader{Rest: content}
	n, ok := r.Uint()
	for i := 0; ok && i < n; i++ {
		var body []byte
		body, ok = r.Sized()
		c.sizes = append(c.sizes, len(body))
	}
	return ok && n == len(c.types)
}

// function returns a function's body with its calls changed.
func (c *calls) function(_ int, body []byte) ([]byte, bool) {
	r := wasmfile.Reader{Rest: body}
	ok := r.Locals()
	out := append([]byte(nil), body[:len(body)-len(r.Rest)]...)
	for ok && len(r.Rest) > 0 {
		before := r.Rest
		var op int
		op, ok = r.Instruction()
		instruction := before[:len(before)-len(r.Rest)]
		if op == wasmfile.OpCall {
			operand := wasmfile.Reader{Rest: instruction[1:]}
			callee, _ := operand.Uint()
			if own := callee - c.imported; own >= 0 && own < len(c.sizes) && c.sizes[own] > largestDirect {
				out = wasmfile.AppendSint(append(out, wasmfile.OpI32Const), c.slot(callee))
				out = binary.AppendUvarint(append(out, wasmfile.OpCallIndirect), uint64(c.types[own]))
				instruction = []byte{0} // the table
			}
		}
		out = append(out, instruction...)
	}
	return out, ok
}

// slot returns a function's slot in the table.
func (c *calls) slot(function int) int {
	slot, ok := c.slots[function]
	if !ok {
		slot = c.first + len(c.called)
		c.slots[function], c.called = slot, append(c.called, function)
	}
	return slot
}

// extend adds the functions that are called to the table.
func (c *calls) extend(table, elements *wasmfile.Section) bool {
	size := uint64(c.first + len(c.called))
	table.Content = binary.AppendUvarint([]byte{1, funcref, c.limits}, size)
	if c.limits == hasMaximum {
		table.Content = binary.AppendUvarint(table.Content, size)
	}
	r := wasmfile.Reader{Rest: elements.Content}
	segments, ok := r.Uint()
	out := append(binary.AppendUvarint(nil, uint64(segments)+1), r.Rest...)
	out = wasmfile.AppendSint(append(out, 0, wasmfile.OpI32Const), c.first)
	out = binary.AppendUvarint(append(out, wasmfile.OpEnd), uint64(len(c.called)))
	for _, f := range c.called {
		out = binary.AppendUvarint(out, uint64(f))
	}
	elements.Content = out
	return ok
}
