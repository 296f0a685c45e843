package config

import filterconfig "github.com/harmonyedge/harmonyedge/filter/config"

// LimitsContext reports whether the gateway holds requests for a model to the model's context. Servers that take
// conversations render prompts themselves, and hold their context themselves too.
func (c *Config) LimitsContext(m *Model) bool { return !c.ServerKind(m).Conversations }

// ContextsIn returns the contexts in the filter's JSON, by model. For anything else it returns nil.
func ContextsIn(filterJSON []byte) map[string]int {
	f, err := filterconfig.Parse(filterJSON)
	if err != nil {
		return nil
	}
	contexts := make(map[string]int, len(f.Models))
	for i := range f.Models {
		contexts[f.Models[i].Name] = f.Models[i].ContextLength
	}
	return contexts
}
