// Command wasmfinish makes the merged filter module fit to ship: it keeps the exports that an Envoy needs and drops all
// others, drops custom sections that name the machine's compilers, and refuses a module that would not load or that
// would leak (TinyGo's own malloc): see check.
//
// It knows the outline of a WebAssembly module, not the code in it.
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
