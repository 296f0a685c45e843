//go:build e2e

package limits

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestModuleMemory inspects the file that ships. The host calls the export malloc for every read. It must be our own,
// which returns one buffer for large reads; TinyGo's allocator, whose blocks are never freed, must not be exported.
// The vocabulary lies below the heap.
func TestModuleMemory(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	data, err := os.ReadFile(lab.Tool(t, "HARMONY_WASM"))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := r.CompileModule(ctx, data)
	if err != nil {
		t.Fatal(err)
	}
	exports := compiled.ExportedFunctions()
	for name := range exports {
		if !strings.HasPrefix(name, "proxy_") && name != "malloc" && name != "_initialize" {
			t.Errorf("the module exports %s", name)
		}
	}
	for _, name := range []string{"malloc", "proxy_abi_version_0_2_0", "proxy_on_request_headers",
		"proxy_on_response_body"} {
		if exports[name] == nil {
			t.Errorf("the module does not export %s", name)
		}
	}

	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	host := r.NewHostModuleBuilder("env")
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		switch module {
		case "env":
			host.NewFunctionBuilder().WithGoModuleFunction(
				api.GoModuleFunc(func(context.Context, api.Module, []uint64) {}), f.ParamTypes(), f.ResultTypes()).Export(name)
		case "wasi_snapshot_preview1":
		default:
			t.Errorf("the module imports %s.%s, which no host has", module, name)
		}
	}
	if _, err := host.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	module, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		t.Fatal(err)
	}
	if memory, _ := module.Memory().Read(0, module.Memory().Size()); !bytes.Contains(memory, o200k.Table()) {
		t.Error("the vocabulary is not in the memory that the module begins with, so it will be on the heap")
	}
	pointers := func(size uint64) []uint64 {
		var out []uint64
		for range 3 {
			p, err := module.ExportedFunction("malloc").Call(ctx, size)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, p[0])
		}
		return slices.Compact(out)
	}
	if large := pointers(5 << 20); len(large) != 1 {
		t.Errorf("large reads get %d buffers, not one: %v", len(large), large)
	}
	if small := pointers(100); len(small) != 3 {
		t.Errorf("small reads share a buffer: %v", small)
	}
	if zero := pointers(0); zero[0] == 0 {
		t.Error("a read of nothing gets a null pointer")
	}
}
