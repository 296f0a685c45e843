package config

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Setting describes one setting that a file may have.
type Setting struct {
	// Path is such as pools[].health.interval, where [] is for any entry of a list.
	Path string
	// Flag is the flag of harmony up that sets it too, and " (repeatable)" if it may be repeated. Empty: none does.
	Flag string
	// Default, Range and Meaning are lines of Markdown. Range is what the setting may be.
	Default, Range, Meaning string
	// Start is the part that reads the setting only when it starts. Empty: a change takes effect at once.
	Start Part
	// Preset is the default as it is written in the file. It is nil if it depends on something else, or is empty.
	Preset any
	// Words are the texts that it, or each element of it, may be. Empty: any.
	Words []string
	// Number reports whether it is a number, from Min to Max.
	Number   bool
	Min, Max int64
}

// Settings returns every setting that a file may have, in the order of docs/configuration.md.
func Settings() []Setting {
	var all []Setting
	describe(Default().Fields(), func(path string, f *Field) {
		s := Setting{Path: path, Flag: f.Flag, Default: f.defaultText(), Range: f.rangeText(), Start: f.Start,
			Meaning: strings.ReplaceAll(f.Meaning, "{range}", f.rangeText()), Words: f.Words, Min: f.Range.Min,
			Max: f.Range.Max}
		switch v := f.preset().(type) {
		case int, float64, bool:
			s.Preset = v
		case []string:
			if len(v) > 0 {
				s.Preset = v
			}
		default:
			if text := plain(v); text != "" {
				s.Preset = text
			}
		}
		if f.Elements != nil {
			s.Words = f.Elements
		}
		switch f.At.(type) {
		case *int, *float64:
			s.Number = true
		}
		if f.Zero != nil || f.contract { // where 0 stands for a default outside the range
			s.Min = min(s.Min, 0)
		}
		all = append(all, s)
	})
	return all
}

// preset returns the value that the setting has without the file, or nil if that depends on something else.
func (f *Field) preset() any {
	switch {
	case f.Shown != "", f.Required && f.Default == nil:
		return nil
	case f.Default != nil && !f.contract:
		return f.Default
	case f.Zero != nil:
		return f.Zero
	}
	return reflect.ValueOf(f.At).Elem().Interface()
}

// defaultText returns the default as it is shown in a table.
func (f *Field) defaultText() string {
	if f.Shown != "" {
		return f.Shown
	}
	switch v := f.preset().(type) {
	case nil:
		return "required"
	case int, float64:
		return plain(v)
	case []string:
		if len(v) > 0 {
			return "`" + strings.Join(v, "`, `") + "`"
		}
	default:
		if text := plain(v); text != "" {
			return "`" + text + "`"
		}
	}
	return "none"
}

// plain returns a value as it is written in the file.
func plain(value any) string {
	switch v := value.(type) {
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	case Size:
		return v.String()
	case Duration:
		return shortTime(v)
	case Percent:
		return v.String()
	}
	return ""
}

// rangeText returns what the setting may be: its range, its words or its form.
func (f *Field) rangeText() string {
	switch f.At.(type) {
	case *bool, **bool:
		return "true or false"
	case *Percent:
		return "0% to 100%"
	}
	_, size := f.At.(*Size)
	_, duration := f.At.(*Duration)
	switch from, to := f.quantity(f.Range.Min), f.quantity(f.Range.Max); {
	case f.Words != nil:
		return "`" + strings.Join(f.Words, "`, `") + "`"
	case f.Elements != nil:
		return "list of `" + strings.Join(f.Elements, "`, `") + "`"
	case f.Range == Range{} || f.At == nil:
		return f.formText()
	case f.Range.Max == math.MaxInt64:
		return "at least " + from
	case f.Range.Min == 0 && (size || duration):
		return "at most " + to
	default:
		return from + " to " + to
	}
}

// formText returns what a text is, or each text of a list, and what a setting without a range is.
func (f *Field) formText() string {
	form := string(f.Form)
	switch f.At.(type) {
	case *contract.Object, *map[string]string, *ServicePort:
	case *[]string:
		if form == "" {
			form = string(FormText)
		}
		return "list: " + form
	case *Size:
		return "size"
	}
	if form == "" {
		return string(FormText)
	}
	return form
}
