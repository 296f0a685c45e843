package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// callingModule returns a module whose functions all are (i32) -> i32. It imports one, env.twice. Function 1 adds 3 to
// its argument, function 2 does so too and is larger than largestDirect, and function 3, exported as f, calls all three
// and function 1 through the table.
func callingModule() []byte {
	large := "\x00\x20\x00\x41\x03\x6a" + strings.Repeat("\x01", largestDirect) + "\x0b"
	var code []byte
	for _, body := range []string{"\x00\x20\x00\x41\x03\x6a\x0b", large,
		"\x00\x20\x00\x10\x00\x10\x01\x10\x02\x10\x02\x41\x00\x11\x00\x00\x0b"} {
		code = wasmfile.AppendSized(code, []byte(body))
	}
	return wasmfile.Join([]wasmfile.Section{
		{ID: 1, Content: []byte("\x01\x60\x01\x7f\x01\x7f")},
		{ID: wasmfile.Import, Content: []byte("\x01\x03env\x05twice\x00\x00")},
		{ID: wasmfile.Function, Content: []byte("\x03\x00\x00\x00")},
		{ID: wasmfile.Table, Content: []byte("\x01\x70\x01\x01\x01")},
		{ID: wasmfile.Export, Content: []byte("\x01\x01f\x00\x03")},
		{ID: wasmfile.Element, Content: []byte("\x01\x00\x41\x00\x0b\x01\x01")},
		{ID: wasmfile.Code, Content: append([]byte{3}, code...)},
	})
}

func TestLimitInlining(t *testing.T) {
	sections, err := wasmfile.Split(callingModule())
	if err != nil {
		t.Fatal(err)
	}
	if err := limitInlining(sections); err != nil {
		t.Fatal(err)
	}
	changed := wasmfile.Join(sections)
	// The small and the imported function are called as before, and the large one twice through slot 1.
	want := "\x20\x00\x10\x00\x10\x01\x41\x01\x11\x00\x00\x41\x01\x11\x00\x00\x41\x00\x11\x00\x00\x0b"
	if !bytes.Contains(changed, []byte(want)) {
		t.Errorf("got %x", changed)
	}
	ctx := t.Context()
	for _, module := range [][]byte{callingModule(), changed} {
		r := wazero.NewRuntime(ctx)
		defer r.Close(ctx)
		if _, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func(n int32) int32 { return 2 * n }).
			Export("twice").Instantiate(ctx); err != nil {
			t.Fatal(err)
		}
		instance, err := r.Instantiate(ctx, module)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := instance.ExportedFunction("f").Call(ctx, 10); err != nil || got[0] != 32 {
			t.Errorf("f(10) is %d, %v; want 32", got, err)
		}
	}
}

// TestLimitInliningLeavesOthers: a module without a table stays as it is.
func TestLimitInliningLeavesOthers(t *testing.T) {
	sections := []wasmfile.Section{{ID: wasmfile.Function, Content: []byte("\x01\x00")},
		{ID: wasmfile.Code, Content: []byte("\x01\x04\x00\x10\x00\x0b")}}
	before := wasmfile.Join(sections)
	if err := limitInlining(sections); err != nil || !bytes.Equal(before, wasmfile.Join(sections)) {
		t.Errorf("a module without a table: %v, %x", err, wasmfile.Join(sections))
	}
}

// TestLimitInliningRefuses: a module is refused if a section is cut that the calls depend on.
func TestLimitInliningRefuses(t *testing.T) {
	for _, id := range []byte{wasmfile.Import, wasmfile.Function, wasmfile.Table, wasmfile.Code} {
		sections, err := wasmfile.Split(callingModule())
		if err != nil {
			t.Fatal(err)
		}
		for i := range sections {
			if s := &sections[i]; s.ID == id {
				s.Content = s.Content[:len(s.Content)/2]
			}
		}
		if limitInlining(sections) == nil {
			t.Errorf("section %d cut is not refused", id)
		}
	}
}
