package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Field is one setting of the operator's file, bound to the variable that holds its value. At, Block or Entries is set.
//
// A block's settings are listed once, in its method fields. From this list follow the defaults, the checks of ranges,
// the paths of files, what a change needs, the JSON Schema, the rows of docs/configuration.md and the table of
// harmony controlplane validate --explain.
type Field struct {
	// Key is the setting's name in its block.
	Key string
	// Meaning is a line of Markdown. {range} in it stands for the range.
	Meaning string
	// Flag is the flag of harmony up that sets it too.
	Flag string

	// At points to the value.
	At any
	// Block has the settings of a block. Entries has the settings of each entry of a list.
	Block   []Field
	Entries *Entries

	// Default is the value that [Default] sets. Zero is what the zero value stands for, where it is used. Shown is the
	// default in words, where it depends on something else.
	Default, Zero any
	Shown         string
	// Range is the range of a number, a size or a time. A value for which Zero stands is in it too.
	Range Range
	// Words are the texts that the setting may be, and Elements the texts that a list may have. Without them it has a
	// Form, and Check returns what is wrong with a text, or "".
	Words, Elements []string
	Form            Form
	Check           func(text string) string
	// Required reports whether a text must not be empty.
	Required bool
	// Advice follows a refused value in the error text, and Below one that is less than the range. {min} and {max} are
	// the range's. If Advice is empty, the text is made from the range or from the words. Or ends the text with
	// another possibility.
	Advice, Below, Or string
	// Start is the part that reads the setting only when it starts. Empty: a change takes effect at once.
	Start Part

	contract bool // it is in a list of package contract too, which sets its default
}

// Form is what a text is, in words.
type Form string

// The forms of texts.
const (
	FormAddress Form = "IP address:port"
	FormURL     Form = "URL"
	// FormFile is a file that is looked for from the folder of the configuration. FormPath is one that is not.
	FormFile   Form = "file"
	FormPath   Form = "path"
	FormHeader Form = "header"
	// FormToken and FormCertificate are names of [Config.Secrets].
	FormToken       Form = "secret with a token"
	FormCertificate Form = "secret with a certificate"
	FormName        Form = "name"
	FormText        Form = "text"
	FormObject      Form = "object"
)

// Entries are the entries of a list of blocks.
type Entries struct {
	len   int
	at    func(i int) []Field
	blank func() []Field
}

// entriesOf returns the entries of a list.
func entriesOf[T any](all []T, blank func() *T, fields func(*T) []Field) *Entries {
	return &Entries{len: len(all), at: func(i int) []Field { return fields(&all[i]) },
		blank: func() []Field { return fields(blank()) }}
}

// zero returns a new zero value.
func zero[T any]() *T { return new(T) }

// Range is the range of a number, of a size in bytes, or of a time in nanoseconds. Its zero value has no bounds.
type Range struct{ Min, Max int64 }

func numbers(from, to int) Range                  { return Range{int64(from), int64(to)} }
func sizes(from, to Size) Range                   { return Range{int64(from), int64(to)} }
func times(shortest, longest time.Duration) Range { return Range{int64(shortest), int64(longest)} }

// number returns the value as a number of its range's unit, and whether it has one.
func (f *Field) number() (int64, bool) {
	switch v := f.At.(type) {
	case *int:
		return int64(*v), true
	case *Size:
		return int64(*v), true
	case *Duration:
		return int64(*v), true
	}
	return 0, false
}

// quantity returns a number of the setting as people write it: 16MiB, 5m.
func (f *Field) quantity(n int64) string {
	switch f.At.(type) {
	case *Size:
		size := Size(n)
		return size.String()
	case *Duration:
		return shortTime(Duration(n))
	}
	return strconv.FormatInt(n, 10)
}

// shortTime returns 5m instead of 5m0s.
func shortTime(d Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// isZero reports whether the setting has the zero value of its type.
func (f *Field) isZero() bool { return reflect.ValueOf(f.At).Elem().IsZero() }

// setDefault sets the value to its default, if it has one of its own.
func (f *Field) setDefault() {
	if f.Default != nil {
		reflect.ValueOf(f.At).Elem().Set(reflect.ValueOf(f.Default))
	}
}

// setDefaults sets the settings of a block that have a default.
func setDefaults(fields []Field) {
	for i := range fields {
		if f := &fields[i]; !f.contract && f.Entries == nil {
			f.setDefault()
			setDefaults(f.Block)
		}
	}
}

// fillZeros sets each setting of a block to what its zero value stands for.
func fillZeros(fields []Field) {
	for i := range fields {
		if f := &fields[i]; f.Zero != nil && f.isZero() {
			reflect.ValueOf(f.At).Elem().Set(reflect.ValueOf(f.Zero))
		}
	}
}

// refuse calls report with everything that is wrong with the value by itself. at is the place within the value, such as
// [1].
func (f *Field) refuse(report func(at, reason string)) {
	switch v := f.At.(type) {
	case *string:
		if *v != "" || f.Required || f.Words != nil && f.Zero == nil {
			report("", f.refuseText(*v))
		}
	case *[]string:
		for i, text := range *v {
			report(fmt.Sprintf("[%d]", i), f.refuseText(text))
		}
	case *float64:
		if !(*v >= float64(f.Range.Min) && *v <= float64(f.Range.Max)) {
			report("", fmt.Sprintf("%g %s", *v, f.advice(f.Advice)))
		}
	default:
		report("", f.refuseNumber())
	}
}

// refuseText returns what is wrong with a text, or "".
func (f *Field) refuseText(text string) string {
	switch {
	case f.Check != nil:
		return f.Check(text)
	case f.Words != nil && !slices.Contains(f.Words, text):
		return fmt.Sprintf("%q is not known; write %s", text, f.advice(""))
	}
	return ""
}

// refuseNumber returns what is wrong with a number, a size or a time, or "".
func (f *Field) refuseNumber() string {
	n, ok := f.number()
	if !ok || f.Range == (Range{}) || n >= f.Range.Min && n <= f.Range.Max || f.Zero != nil && n == 0 {
		return ""
	}
	advice := f.Advice
	if n < f.Range.Min && f.Below != "" {
		advice = f.Below
	}
	if text, ok := f.At.(fmt.Stringer); ok {
		return text.String() + " " + f.advice(advice)
	}
	return strconv.FormatInt(n, 10) + " " + f.advice(advice)
}

// advice returns the end of the error text about a refused value. text is the one of the setting.
func (f *Field) advice(text string) string {
	switch {
	case text == "" && f.Words != nil:
		text = orList(f.Words)
	case text == "":
		text = "is out of range; use {min} to {max}"
	}
	if f.Or != "" {
		text += ", or " + f.Or
	}
	return strings.NewReplacer("{min}", f.quantity(f.Range.Min), "{max}", f.quantity(f.Range.Max)).Replace(text)
}

// orList joins words as in "low, medium or high".
func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// walk calls visit for every setting of a block that has a value, with its path.
func walk(prefix string, fields []Field, visit func(path string, f *Field)) {
	for i := range fields {
		f := &fields[i]
		path := prefix + f.Key
		switch {
		case f.Entries != nil:
			for j := range f.Entries.len {
				walk(fmt.Sprintf("%s[%d].", path, j), f.Entries.at(j), visit)
			}
		case f.Block != nil:
			walk(path+".", f.Block, visit)
		default:
			visit(path, f)
		}
	}
}

// describe calls visit for every setting that a block may have, with its path, in which [] is for any entry of a list.
func describe(fields []Field, visit func(path string, f *Field)) { describeUnder("", fields, visit) }

func describeUnder(prefix string, fields []Field, visit func(path string, f *Field)) {
	for i := range fields {
		f := &fields[i]
		path := prefix + f.Key
		switch {
		case f.Entries != nil:
			describeUnder(path+"[].", f.Entries.blank(), visit)
		case f.Block != nil:
			describeUnder(path+".", f.Block, visit)
		default:
			visit(path, f)
		}
	}
}
