package config

import (
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
		if at, reason := refuseModel(f); reason != "" {
			return f.Key + at, reason
		}
	}
	return "", ""
}
