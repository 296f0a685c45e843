package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// DefaultModel returns a model with this name, these servers, each as KIND=URL, and all defaults.
func DefaultModel(name string, servers ...string) Model {
	m := Model{Name: name, Servers: servers}
	contract.SetDefaults(m.ModelSettings.Fields())
	return m
}

// UnmarshalYAML implements yaml.InterfaceUnmarshaler. A setting that the file does not have gets its default.
func (m *Model) UnmarshalYAML(decode func(any) error) error {
	type plain Model
	*m = DefaultModel("")
	m.ContextLength = 0
	if err := decode((*plain)(m)); err != nil {
		return err
	}
	m.ContextSet = m.ContextLength != 0
	contract.FillZeros(m.ModelSettings.Fields())
	return nil
}

// outOfRange returns the path of the first setting that is out of its range, and an error text. The path is empty if
// all settings are in their ranges.
func outOfRange(fields []contract.Field) (path, reason string) {
	for i := range fields {
		f := &fields[i]
		if inner, reason := outOfRange(f.Block); inner != "" {
			return f.Key + "." + inner, reason
		}
		if f.Allowed() {
			continue
		}
		switch {
		case f.Number != nil:
			advice := f.Advice
			if advice == "" {
				advice = fmt.Sprintf("is out of range; use %d to %d", f.Min, f.Max)
			}
			return f.Key, fmt.Sprintf("%d %s", *f.Number, advice)
		case f.List != nil:
			j := slices.IndexFunc(*f.List, func(s string) bool { return !f.AllowsElement(s) })
			advice := f.Advice
			if f.Words != nil {
				advice = "is not known; write one or more of " + strings.Join(f.Words, ", ")
			}
			return fmt.Sprintf("%s[%d]", f.Key, j), fmt.Sprintf("%q %s", (*f.List)[j], advice)
		case f.Words != nil:
			return f.Key, fmt.Sprintf("%q is not known; write %s", *f.Text, orList(f.Words))
		default:
			return f.Key, fmt.Sprintf("%q %s", *f.Text, f.Advice)
		}
	}
	return "", ""
}

// orList joins words as in "low, medium or high".
func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
