// Command wasmrun runs a WASI program, so that tests compiled by TinyGo need no other runtime:
//
//	wasmrun FILE.wasm [ARGUMENT]...
//
// The program can access the working directory, its parents up to the one with go.mod (as .., ../.. and so on), and the
// folder for temporary files as /tmp.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: wasmrun FILE.wasm [ARGUMENT]...")
		os.Exit(2)
	}
	err := run(context.Background(), os.Args[1:])
	var exit *sys.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(int(exit.ExitCode()))
	case err != nil:
		fmt.Fprintln(os.Stderr, "wasmrun:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	code, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	runtime := wazero.NewRuntime(ctx)
	defer runtime.Close(ctx)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return err
	}

	files, err := mounts()
	if err != nil {
		return err
	}
	_, err = runtime.InstantiateWithConfig(ctx, code, wazero.NewModuleConfig().
		WithArgs(args...).
		WithFSConfig(files).
		WithStdin(os.Stdin).WithStdout(os.Stdout).WithStderr(os.Stderr).
		WithRandSource(rand.Reader).
		WithSysWalltime().WithSysNanotime().WithSysNanosleep())
	return err
}

func mounts() (wazero.FSConfig, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	files := wazero.NewFSConfig().WithDirMount(os.TempDir(), "/tmp").WithDirMount(dir, ".")
	for up := ".."; ; up += "/.." {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
			return files, nil
		}
		dir = filepath.Dir(dir)
		files = files.WithDirMount(dir, up)
	}
}
