// Command vocabtable writes the vocabulary's lookup table to a file, which filter/vocabulary embeds into the filter.
//
// It knows where the table comes from. It does not know how a module is built. A file that has the table already is
// left alone, so that two builds at once do not disturb each other.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func main() {
	out := flag.String("o", "", "file to write")
	flag.Parse()
	if *out == "" || flag.NArg() != 0 {
		fmt.Fprintln(os.Stderr, "usage: vocabtable -o FILE")
		os.Exit(2)
	}
	if err := write(*out, o200k.Table()); err != nil {
		fmt.Fprintln(os.Stderr, "vocabtable:", err)
		os.Exit(1)
	}
}

// write puts content into the file at once: another build may be reading it.
func write(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".table-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(content); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
