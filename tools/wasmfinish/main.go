// Command wasmfinish makes the compiled filter module ready to ship, in two steps. The first removes all exports except
// those that Envoy needs, custom sections that name the compilers used, and self-tests that never run. Binaryen then
// removes what nothing needs any more. The second step, -ship, limits what V8 inlines (see limitInlining) and joins the
// data (see joinData). It refuses a module that would not load or that would leak memory (TinyGo's own malloc): see
// check. With -version it stamps the module (see [filterfile.Stamp]).
//
// It knows the structure of a WebAssembly module. It does not know the code in it.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/harmonyedge/harmonyedge/internal/filterfile"
)

func main() {
	in := flag.String("i", "", "module to read")
	out := flag.String("o", "", "module to write")
	last := flag.Bool("ship", false, "the last step: limit what V8 inlines, and check the module")
	version := flag.String("version", "", "with -ship, the version to stamp the module with (default: no stamp)")
	flag.Parse()
	if *in == "" || *out == "" || flag.NArg() != 0 || *version != "" && !*last {
		fmt.Fprintln(os.Stderr, "usage: wasmfinish [-ship [-version VERSION]] -i FILE -o FILE")
		os.Exit(2)
	}
	step := finish
	switch {
	case *version != "":
		step = func(module []byte) ([]byte, error) { return shipStamped(module, *version) }
	case *last:
		step = ship
	}
	if err := run(*in, *out, step); err != nil {
		fmt.Fprintln(os.Stderr, "wasmfinish:", err)
		os.Exit(1)
	}
}

func run(in, out string, step func(module []byte) ([]byte, error)) error {
	data, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	if data, err = step(data); err != nil {
		return err
	}
	return os.WriteFile(out, data, 0o644)
}

// shipStamped is [ship] with a stamp.
func shipStamped(module []byte, version string) ([]byte, error) {
	shipped, err := ship(module)
	if err != nil {
		return nil, err
	}
	return filterfile.Stamp(shipped, version)
}
