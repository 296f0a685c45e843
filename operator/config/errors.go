package config

import (
	"errors"
	"fmt"
	"strings"
)

// Error is an error in a setting. Its text advises what to do.
type Error struct {
	// File, Line and Column are the place of the setting. File is empty if the setting is not from a file. Line and Column
	// are 0 if they are not known.
	File         string
	Line, Column int
	// Field is the setting's path, such as models[0].servers[1]. Empty: the file as a whole.
	Field  string
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return e.text(false) }

// Exact returns the text of [Error.Error] with the column.
func (e *Error) Exact() string { return e.text(true) }

func (e *Error) text(exact bool) string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
			if exact && e.Column > 0 {
				fmt.Fprintf(&b, ":%d", e.Column)
			}
		}
		b.WriteString(": ")
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

// Errors are all errors of a configuration, two or more, in the file's order.
type Errors []*Error

// Error implements error, in one line: the first error, and how many there are.
func (all Errors) Error() string {
	return fmt.Sprintf("%v (and %d more; harmony controlplane validate shows all)", all[0], len(all)-1)
}

// Unwrap returns each error, for [errors.As].
func (all Errors) Unwrap() []error {
	errs := make([]error, len(all))
	for i, e := range all {
		errs[i] = e
	}
	return errs
}

// Join returns errors as one: nil, an [*Error] or [Errors].
func Join(all ...*Error) error {
	p := &problems{}
	for _, e := range all {
		p.put(e)
	}
	return p.err()
}

// maxErrors is how many errors of one configuration are collected.
const maxErrors = 1000

// AsError returns an error as an [*Error] about the whole file, unless it is about a setting already. Nil stays nil.
func AsError(err error) error {
	var already *Error
	if err == nil || errors.As(err, &already) {
		return err
	}
	return &Error{Reason: err.Error()}
}

// problems collects the errors of a configuration. The first one of a setting counts.
type problems struct {
	all Errors
	set map[string]bool
}

// failure adds an error of a setting.
type failure func(field, format string, args ...any)

// add adds an error.
func (p *problems) add(field, format string, args ...any) {
	p.put(&Error{Field: field, Reason: fmt.Sprintf(format, args...)})
}

// refuse adds what is wrong with the value of a setting by itself.
func (p *problems) refuse(path string, f *Field) {
	f.refuse(func(at, reason string) {
		if reason != "" {
			p.add(path+at, "%s", reason)
		}
	})
}

// put is add for an error that may be nil.
func (p *problems) put(e *Error) {
	if e == nil || p.set[e.Field] || len(p.all) == maxErrors {
		return
	}
	if p.set == nil {
		p.set = map[string]bool{}
	}
	p.set[e.Field] = true
	p.all = append(p.all, e)
}

// err returns the errors as one, or nil.
func (p *problems) err() error {
	switch len(p.all) {
	case 0:
		return nil
	case 1:
		return p.all[0]
	}
	return p.all
}

// under returns a function that adds errors of settings below a path.
func (p *problems) under(path string) failure {
	return func(field, format string, args ...any) { p.add(path+field, format, args...) }
}
