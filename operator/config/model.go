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
