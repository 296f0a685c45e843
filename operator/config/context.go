package config

import (
	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// LimitsContext reports whether the gateway holds requests for a model to the model's context. Servers that take
// conversations render prompts themselves, and hold their context themselves too, unless the gateway gets the prompts.
func (c *Config) LimitsContext(m *Model) bool {
	kind := c.ServerKind(m)
	return !kind.Conversations || kind.Renders
}

// StructuresIn returns structured_outputs in the filter's JSON, by model, where it is not the default. For anything
// else it returns nil.
func StructuresIn(filterJSON []byte) map[string]string {
	f, err := filterconfig.Parse(filterJSON)
	if err != nil {
		return nil
	}
	all := map[string]string{}
	for i := range f.Models {
		if value := f.Models[i].StructuredOutputs; value != contract.StructuralTags {
			all[f.Models[i].Name] = value
		}
	}
	return all
}

// ContextsIn returns the contexts in the filter's JSON, by [Model.Place]. For anything else it returns nil.
func ContextsIn(filterJSON []byte) map[string]int {
	f, err := filterconfig.Parse(filterJSON)
	if err != nil {
		return nil
	}
	contexts := make(map[string]int, len(f.Models))
	for i := range f.Models {
		m := &f.Models[i]
		contexts[m.Name] = m.ContextLength
		for j := range m.Route {
			if b := &m.Route[j]; b.Pool != m.Pool && b.ContextLength > 0 {
				contexts[b.Pool] = b.ContextLength
			}
		}
	}
	return contexts
}
