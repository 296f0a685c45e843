// Package command is what the benchmarks have in common as programs: how they start, what they tell a person who waits,
// and how they write their pages.
//
// It knows flags, signals and files. It does not know what is measured.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// Main reads the flags, calls run, and ends the program if run fails. run's context ends when a person interrupts the
// program.
func Main(name string, run func(context.Context) error) {
	flag.Parse()
	err := errors.New("there are no arguments beside flags")
	if flag.NArg() == 0 {
		ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx)
		cancel()
	}
	if err != nil {
		Progress("%s: %v", name, err)
		os.Exit(1)
	}
}

// Progress tells a person who waits what is done.
func Progress(format string, values ...any) { fmt.Fprintf(os.Stderr, format+"\n", values...) }

// File is a file of a benchmark: a page of documentation, or its picture.
type File struct {
	Name string
	Data []byte
}

// Publish prints what was measured, and makes and writes files into a folder if one is named.
func Publish(measured, folder string, files func() []File) error {
	if _, err := os.Stdout.WriteString(measured); err != nil || folder == "" {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, f := range files() {
		if err := os.WriteFile(filepath.Join(folder, f.Name), f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Capital returns a text with a capital at its beginning, as a title has it.
func Capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
