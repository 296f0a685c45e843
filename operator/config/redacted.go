package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// shownForms are the forms of texts that a person outside may read: names of things, and where they are.
var shownForms = []Form{FormAddress, FormURL, FormFile, FormPath, FormHeader, FormToken, FormCertificate, FormName,
	"path of a URL", "KIND=URL", "origin", "cookie", "variable", "name or number"}

// Redacted returns the settings that are not zero, a line each, for people who are not to know what is confidential.
// Texts that may be a prompt or a secret are only counted, such as a system message and the environment of a program.
// Comments of the file are not in it.
func (c *Config) Redacted() string {
	var b strings.Builder
	walk("", c.Fields(), func(path string, f *Field) {
		v := reflect.Indirect(reflect.ValueOf(f.At))
		if !v.IsValid() || v.IsZero() {
			return
		}
		fmt.Fprintf(&b, "%s: %s\n", path, f.redacted(v))
	})
	return b.String()
}

// redacted returns a value as it may be shown.
func (f *Field) redacted(v reflect.Value) string {
	open := slices.Contains(shownForms, f.Form)
	switch v.Kind() {
	case reflect.String:
		if open || slices.Contains(f.Words, v.String()) {
			return withoutUser(v.String())
		}
		return fmt.Sprintf("(text, %d characters)", len([]rune(v.String())))
	case reflect.Slice:
		texts, ok := v.Interface().([]string)
		if !ok || !open && f.Elements == nil {
			return fmt.Sprintf("(%d entries)", v.Len())
		}
		var shown []string
		for _, text := range texts {
			if f.Elements != nil && !slices.Contains(f.Elements, text) {
				text = "?"
			}
			shown = append(shown, withoutUser(text))
		}
		return "[" + strings.Join(shown, ", ") + "]"
	case reflect.Map:
		return fmt.Sprintf("(%d entries)", v.Len())
	case reflect.Struct, reflect.Pointer, reflect.Interface:
		return "(set)"
	}
	return fmt.Sprint(v.Interface())
}

// withoutUser removes the user, the password and the query from a URL.
func withoutUser(text string) string {
	text, _, _ = strings.Cut(text, "?")
	return redactUser(text)
}
