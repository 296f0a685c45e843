package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
)

func TestEncodedModuleCopiesTheTable(t *testing.T) {
	// 63, 64, 8191 and 8192 are limits of the lengths of signed LEB128.
	for _, size := range []int{0, 1, 63, 64, 8191, 8192, 70_000} {
		table := make([]byte, size)
		for i := range table {
			table[i] = byte(i * 31)
		}
		got := copied(t, encode(table), size)
		if !bytes.Equal(got, table) {
			t.Errorf("%d bytes: the copy differs from the table", size)
		}
	}
}

// copied runs the module beside a module that owns the memory, and returns the table that it copies there.
func copied(t *testing.T, module []byte, want int) []byte {
	t.Helper()
	const to = 100
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	defer runtime.Close(ctx)

	// (module (memory (export "memory") 4))
	owner := []byte("\x00asm\x01\x00\x00\x00\x05\x03\x01\x00\x04\x07\x0a\x01\x06memory\x02\x00")
	host, err := runtime.InstantiateWithConfig(ctx, owner, wazero.NewModuleConfig().WithName("harmony_filter"))
	if err != nil {
		t.Fatal(err)
	}
	vocab, err := runtime.InstantiateWithConfig(ctx, module, wazero.NewModuleConfig().WithName("harmony_vocab"))
	if err != nil {
		t.Fatal(err)
	}
	size, err := vocab.ExportedFunction("size").Call(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if size[0] != uint64(want) {
		t.Fatalf("size() = %d, want %d", size[0], want)
	}
	if _, err := vocab.ExportedFunction("copy").Call(ctx, to); err != nil {
		t.Fatal(err)
	}
	got, ok := host.Memory().Read(to, uint32(want))
	if !ok {
		t.Fatal("memory is too small")
	}
	return got
}
