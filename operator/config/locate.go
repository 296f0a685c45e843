package config

import (
	"cmp"
	"errors"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Locate adds the file and the lines to errors about settings, if they are not known yet.
func Locate(err error, file string) error {
	var e *Error
	if !errors.As(err, &e) || e.File != "" {
		return err
	}
	var tree *ast.File
	if data, err := readFile(file); err == nil {
		tree, _ = parseYAML(data) // without a tree the lines are not known
	}
	return locate(err, file, tree)
}

// locate is [Locate] for a file that has been read. It puts the errors in the file's order.
func locate(err error, file string, tree *ast.File) error {
	var all Errors
	if !errors.As(err, &all) {
		var e *Error
		if !errors.As(err, &e) {
			return err
		}
		return e.in(file, tree)
	}
	located := make(Errors, len(all))
	for i, e := range all {
		located[i] = e.in(file, tree)
	}
	slices.SortStableFunc(located, func(a, b *Error) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	return located
}

// in returns the error with its place.
func (e *Error) in(file string, tree *ast.File) *Error {
	located := *e
	if located.File == "" {
		located.File = file
		if tree != nil {
			located.Line, located.Column = placeOf(tree, e.Field)
		}
	}
	return &located
}
