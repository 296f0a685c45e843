// Command version prints the version of the checkout or the source archive in whose root it is run: go run ./tools/version.
//
// It knows where it is run. It does not know how a version is made up; internal/version does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/harmonyedge/harmonyedge/internal/version"
)

func main() {
	linker := flag.Bool("linker", false, "print the flag with which go's linker gives the version to a program")
	tags := flag.Bool("tags", false, "print the tags with which the program is built")
	python := flag.Bool("python", false, "print it as Python packages spell it")
	flag.Parse()
	b, _, err := version.Clone(context.Background(), ".")
	if errors.Is(err, version.ErrNoClone) {
		b, err = version.Current(), nil
	}
	out := b.Version
	switch {
	case err != nil:
	case *linker:
		out = b.Linker()
	case *tags:
		out = version.Tags
	case *python:
		out, err = version.Python(b.Version)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "version:", err)
		os.Exit(1)
	}
	fmt.Println(out)
}
