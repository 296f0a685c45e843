package clients

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/goccy/go-yaml"

	"github.com/harmonyedge/harmonyedge/internal/nearest"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// The largest keys file, and the most clients and hashes in it. All hashes are in every worker of every proxy.
const (
	maxFile    = 8 << 20
	MaxClients = 10_000
	MaxHashes  = 20_000
)

// Error is an error in a keys file. It never repeats what could be a key.
type Error = config.Error

// Load reads a keys file.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return Parse(path, data)
}

func unreadable(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &Error{File: path, Reason: "cannot be read: " + err.Error()}
}

// Parse is [Load] for data that has been read already. name stands for the file in errors.
func Parse(name string, data []byte) (*File, error) {
	if len(data) > maxFile {
		return nil, &Error{File: name, Reason: "is larger than 8 MiB, which is the limit"}
	}
	data = config.TrimMark(data)
	f := &File{}
	if err := yaml.UnmarshalWithOptions(data, f, yaml.Strict()); err != nil && !errors.Is(err, io.EOF) {
		return nil, parseError(name, err)
	}
	if e := f.check(); e != nil {
		e.File = name
		return nil, e
	}
	return f, nil
}

// parseError returns an error of the YAML library, which draws the place as a picture, as one line. Its text may be a
// part of the file, and so a key: only the place is told of an error that is not about a setting's name.
func parseError(name string, err error) *Error {
	var already *Error
	if errors.As(err, &already) {
		already.File = name
		return already
	}
	e := &Error{File: name, Reason: "is not YAML of a keys file; see docs/keys.md"}
	var y yaml.Error
	if errors.As(err, &y) {
		if why := config.SyntaxReason(y.GetMessage(), ""); why != "" {
			e.Reason = why
		}
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line = t.Position.Line
		}
	}
	var (
		unknown  *yaml.UnknownFieldError
		twice    *yaml.DuplicateKeyError
		mismatch *yaml.TypeError
	)
	switch {
	case errors.As(err, &unknown):
		e.Reason = "there is no such setting; " + meant(unknown) + "see docs/keys.md"
	case errors.As(err, &twice):
		e.Reason = "the setting is listed twice"
	case errors.As(err, &mismatch):
		e.Reason = "the value is of another type than the setting"
	}
	return e
}

// settings are the names in a keys file.
var settings = []string{"defaults", "clients", "name", "hashes", "deputy", "limits", "models", "class", "weight",
	"requests_per_minute", "requests_per_day", "tokens_per_minute", "tokens_per_day", "concurrency", "context"}

// meant returns a hint at the setting that an unknown one may have been meant to be, or "". The unknown one may be a key.
func meant(unknown *yaml.UnknownFieldError) string {
	if unknown.Token == nil {
		return ""
	}
	if name := nearest.Word(unknown.Token.Value, settings); name != "" {
		return "did you mean " + name + "? Or "
	}
	return ""
}
