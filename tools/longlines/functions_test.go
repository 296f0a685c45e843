package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostLines is how many lines a function may have, and fileLines how many a file.
const (
	mostLines = 74
	fileLines = 600
)

// TestFunctions shows that no function of the main module is longer than a screen, and no file too long to be read at
// once. Tests may have long functions, which are tables.
func TestFunctions(t *testing.T) {
	root, functions := "../..", 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipped(root, name)
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if n := files.Position(f.FileEnd).Line; n > fileLines {
			t.Errorf("%s has %d lines, the limit is %d", name, n, fileLines)
		}
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		for _, d := range f.Decls {
			if d, is := d.(*ast.FuncDecl); is {
				functions++
				if n := files.Position(d.End()).Line - files.Position(d.Pos()).Line + 1; n > mostLines {
					t.Errorf("%s: %s has %d lines, the limit is %d", files.Position(d.Pos()), d.Name.Name, n, mostLines)
				}
			}
		}
		return nil
	})
	if err != nil || functions < 1000 {
		t.Errorf("%d functions: %v", functions, err)
	}
}

// skipped returns [fs.SkipDir] for a folder without sources of the main module.
func skipped(root, folder string) error {
	name := filepath.Base(folder)
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	switch {
	case folder == root:
		return nil
	case err == nil, strings.HasPrefix(name, "."), slices.Contains([]string{"build", "dist", "testdata"}, name):
		return fs.SkipDir
	}
	return nil
}
