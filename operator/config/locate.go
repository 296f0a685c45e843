package config

import (
	"errors"

	"github.com/goccy/go-yaml/parser"
)

// Locate adds the file and the line to an error about a setting, if they are not known yet.
func Locate(err error, file string) error {
	var e *Error
	if !errors.As(err, &e) || e.File != "" {
		return err
	}
	located := *e
	located.File = file
	if data, err := readFile(file); err == nil {
		if tree, err := parser.ParseBytes(data, 0); err == nil {
			located.Line = lineOf(tree, e.Field)
		}
	}
	return &located
}
