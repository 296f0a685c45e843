// Command vocabwasm writes the vocabulary as a WebAssembly module of its own, to be merged into the filter.
//
// The module imports the filter's memory and holds the table as one passive data segment. So the table is not part of
// the memory that the filter's garbage collector scans. The filter reaches it through two imports that the merge
// resolves:
//
//	//go:wasmimport harmony_vocab size
//	func vocabSize() uint32
//
//	//go:wasmimport harmony_vocab copy
//	func vocabCopy(to unsafe.Pointer)
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func main() {
	out := flag.String("o", "", "file to write")
	flag.Parse()
	if *out == "" || flag.NArg() != 0 {
		fmt.Fprintln(os.Stderr, "usage: vocabwasm -o FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(*out, encode(o200k.Table()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "vocabwasm:", err)
		os.Exit(1)
	}
}
