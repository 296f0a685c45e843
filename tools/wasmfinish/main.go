// Command wasmfinish makes the compiled filter module ready to ship. It removes all exports except those that Envoy
// needs, and custom sections that name the compilers used. It refuses a module that would not load or that would leak
// memory (TinyGo's own malloc): see check.
//
// It knows the structure of a WebAssembly module. It does not know the code in it.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	in := flag.String("i", "", "module to read")
	out := flag.String("o", "", "module to write; empty: only check")
	flag.Parse()
	if *in == "" || flag.NArg() != 0 {
		fmt.Fprintln(os.Stderr, "usage: wasmfinish -i FILE [-o FILE]")
		os.Exit(2)
	}
	if err := run(*in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "wasmfinish:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	data, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	if out == "" {
		return check(data)
	}
	finished, err := finish(data)
	if err != nil {
		return err
	}
	return os.WriteFile(out, finished, 0o644)
}
