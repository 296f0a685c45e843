package wasmcount

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// moduleOf returns a module with a memory, a variable, and one function (i32) -> i32, exported as f, that has one local
// of type i32 and this code.
func moduleOf(code string) []byte {
	return wasmfile.Join([]wasmfile.Section{
		{ID: 1, Content: []byte("\x01\x60\x01\x7f\x01\x7f")}, // types: (i32) -> i32
		{ID: 3, Content: []byte("\x01\x00")},                 // functions: one, of type 0
		{ID: 5, Content: []byte("\x01\x00\x01")},             // memories: one page
		{ID: wasmfile.Global, Content: []byte("\x01\x7f\x01\x41\x00\x0b")},
		{ID: wasmfile.Export, Content: []byte("\x01\x01f\x00\x00")},
		{ID: wasmfile.Code, Content: wasmfile.AppendSized([]byte{1}, []byte("\x01\x01\x7f"+code+"\x0b"))},
		{ID: wasmfile.Custom, Content: []byte("\x04name\x01\x04\x01\x00\x01f")},
	})
}

// called calls f of a module.
func called(ctx context.Context, t *testing.T, module []byte, argument uint64) (result uint64, trapped bool) {
	t.Helper()
	r := wazero.NewRuntime(ctx)
	t.Cleanup(func() { _ = r.Close(ctx) })
	instance, err := r.Instantiate(ctx, module)
	if err != nil {
		t.Fatal(err)
	}
	results, err := instance.ExportedFunction("f").Call(ctx, argument)
	if err != nil {
		return 0, true
	}
	return results[0], false
}

// programs are functions, and the instructions that they execute for an argument.
var programs = []struct {
	name, code string
	want       map[uint64]uint64
}{
	{"add 1", "\x20\x00\x41\x01\x6a", map[uint64]uint64{7: 3}},
	// if the argument is 0: 2, else 1; add 3
	{"if and else", "\x20\x00\x04\x7f\x41\x01\x05\x41\x02\x0b\x41\x03\x6a", map[uint64]uint64{0: 5, 1: 5}},
	{"if alone", "\x20\x00\x04\x40\x01\x41\x05\x21\x00\x0b\x20\x00", map[uint64]uint64{0: 3, 1: 5}},
	// count the argument down to 0
	{"loop", "\x03\x40\x20\x00\x41\x01\x6b\x22\x00\x0d\x00\x0b\x20\x00", map[uint64]uint64{1: 6, 1000: 5001}},
	{"branch out of a block", "\x02\x40\x20\x00\x0d\x00\x41\x07\x1a\x0b\x41\x09", map[uint64]uint64{0: 5, 1: 3}},
	{"branch without a condition", "\x02\x40\x0c\x00\x0b\x41\x00", map[uint64]uint64{1: 2}},
	// 0 leads out of the inner block, 1 and more out of the outer one
	{"table of branches", "\x02\x40\x02\x40\x20\x00\x0e\x01\x00\x01\x0b\x41\x07\x1a\x0b\x41\x09",
		map[uint64]uint64{0: 5, 1: 3, 2: 3}},
	{"return", "\x20\x00\x04\x40\x41\x01\x0f\x0b\x41\x02", map[uint64]uint64{0: 3, 1: 4}},
	{"recursion", "\x20\x00\x45\x04\x40\x41\x00\x0f\x0b\x20\x00\x41\x01\x6b\x10\x00", map[uint64]uint64{0: 5, 3: 26}},
	{"trap", "\x20\x00\x04\x40\x00\x0b\x41\x02", map[uint64]uint64{0: 3, 1: 3}},
	{"memory.fill", "\x41\x00\x41\x05\x20\x00\xfc\x0b\x00\x20\x00\x2d\x00\x00",
		map[uint64]uint64{0: 6, 7: 6, 8: 7, 800: 106}},
	{"memory.copy", "\x41\x08\x41\x00\x20\x00\xfc\x0a\x00\x00\x20\x00", map[uint64]uint64{0: 5, 80: 15}},
	{"operands of all lengths", "\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f\xc4\xa7" + // i64.const, extend32, wrap
		"\x44\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x3f\xfc\x02" + // f64.const, i32.trunc_sat
		"\x43\x0b\x0b\x0b\x3f\x1a\x3f\x00\x40\x00\x23\x00" + // f32.const, drop, memory.size, memory.grow, global.get
		"\x6a\x6a\x20\x00\x1b", map[uint64]uint64{0: 14, 1: 14}},
	{"a long run", strings.Repeat("\x20\x00\x1a", 100) + "\x20\x00", map[uint64]uint64{0: 201}},
}

// TestInstrument: an instrumented function returns what it returned before, and counts what it executes.
func TestInstrument(t *testing.T) {
	for _, tt := range programs {
		t.Run(tt.name, func(t *testing.T) {
			counting, err := Instrument(moduleOf(tt.code))
			if err != nil {
				t.Fatal(err)
			}
			for argument, want := range tt.want {
				wantResult, wantTrap := called(t.Context(), t, moduleOf(tt.code), argument)
				counter := &Counter{}
				result, trap := called(counter.Context(t.Context()), t, counting, argument)
				if result != wantResult || trap != wantTrap {
					t.Errorf("f(%d) is %d, %t; without counting %d, %t", argument, result, trap, wantResult, wantTrap)
				}
				if got := counter.Counts().Instructions; got != want {
					t.Errorf("f(%d): %d instructions, want %d", argument, got, want)
				}
			}
		})
	}
}

// TestInstrumentRefuses: what cannot be counted is an error, and so is a module that is cut.
func TestInstrumentRefuses(t *testing.T) {
	const simd = "\xfd\x0c\x00"
	for _, module := range [][]byte{nil, []byte("\x00asm\x02\x00\x00\x00"), moduleOf(simd), moduleOf("\x02"),
		bytes.Replace(moduleOf("\x20\x00"), []byte("\x06\x06\x01\x7f\x01\x41\x00\x0b"), nil, 1)} {
		if _, err := Instrument(module); err == nil {
			t.Errorf("%q is instrumented", module)
		}
	}
	whole := moduleOf("\x20\x00")
	for n := range whole {
		_, err := Instrument(whole[:n])
		if _, cut := wasmfile.Split(whole[:n]); cut != nil && err == nil {
			t.Errorf("a module cut after %d bytes is instrumented", n)
		}
	}
}

// TestProfile: instructions belong to the function that executes them, and calls to the frame that made them.
func TestProfile(t *testing.T) {
	const recursion = "\x20\x00\x45\x04\x40\x41\x00\x0f\x0b\x20\x00\x41\x01\x6b\x10\x00"
	counting, err := Instrument(moduleOf(recursion))
	if err != nil {
		t.Fatal(err)
	}
	counter := &Counter{Profile: true}
	called(counter.Context(t.Context()), t, counting, 3)
	profile := counter.Root()
	depth := 0
	for f := profile; len(f.Children) > 0; depth++ {
		f = f.Children[0]
		if want := uint64(7); f.Name != "f" || f.Calls != 1 || f.Self != want && depth < 3 {
			t.Errorf("at depth %d: %+v", depth, f)
		}
	}
	if all := profile.Functions(); depth != 4 || len(all) != 1 || all[0] != (Function{"f", 26, 4}) ||
		profile.Total() != 26 {
		t.Errorf("depth %d, %+v, %d instructions", depth, all, profile.Total())
	}
	var svg strings.Builder
	if err := profile.WriteSVG(&svg, "a <test>"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a &lt;test&gt;: 26 instructions",
		"<title>f: 26 instructions, 100.0 %; its own 7; 1 calls",
		"<title>f: 5 instructions, 19.2 %; its own 5; 1 calls"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the graph lacks %q:\n%s", want, svg.String())
		}
	}
	counter.Paused = true
	called(counter.Context(t.Context()), t, counting, 3)
	if profile.Total() != 26 {
		t.Errorf("while it was paused, %d instructions were attributed", profile.Total()-26)
	}
}

// TestRoles: what the allocator is asked for is counted, and the collector's instructions are counted apart.
func TestRoles(t *testing.T) {
	counting, err := Instrument(moduleOf("\x20\x00\x41\x01\x6a"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		counter Counter
		want    Counts
		known   bool
	}{
		{Counter{Allocator: "f", Collector: "g"}, Counts{Instructions: 3, Allocated: 41}, false},
		{Counter{Allocator: "g", Collector: "f"}, Counts{Collecting: 3, Collections: 1}, false},
		{Counter{Allocator: "f", Collector: "f"}, Counts{Collecting: 3, Collections: 1}, true},
	} {
		c := tt.counter
		called(c.Context(t.Context()), t, counting, 41)
		if n := c.LongestCollection(); n != tt.want.Collecting || c.Memory() != 64<<10 {
			t.Errorf("%q, %q: %d instructions, a memory of %d bytes", c.Allocator, c.Collector, n, c.Memory())
		}
		if got := c.Counts(); got != tt.want || (c.Check() == nil) != tt.known {
			t.Errorf("%q, %q: %+v, %v", c.Allocator, c.Collector, got, c.Check())
		}
	}
}
