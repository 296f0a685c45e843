package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// efforts are the words of the API, each with what the model is told; a zero Effort is not offered.
func (m *Model) efforts() [7]struct {
	word   string
	effort harmony.Effort
} {
	e := &m.Efforts
	return [...]struct {
		word   string
		effort harmony.Effort
	}{
		{"none", e.None}, {"minimal", e.Minimal}, {"low", harmony.Low}, {"medium", harmony.Medium}, {"high", harmony.High},
		{"xhigh", e.XHigh}, {"max", e.Max},
	}
}

// effortOf is the effort that the client's word stands for, or without one the model's own; param is where it stood.
func (m *Model) effortOf(word, param string) (harmony.Effort, *openai.Error) {
	if word == "" {
		return m.Effort, nil
	}
	offered := ""
	for _, e := range m.efforts() {
		if e.effort == 0 {
			continue
		}
		if e.word == word {
			return e.effort, nil
		}
		if offered != "" {
			offered += ", "
		}
		offered += "'" + e.word + "'"
	}
	return 0, openai.Unsupported(param, "Unsupported value: '"+param+"' cannot be '"+word+"' with this model. Supported values are: "+offered+".")
}

func effortName(e harmony.Effort) string {
	switch e {
	case harmony.Low:
		return "low"
	case harmony.Medium:
		return "medium"
	case harmony.High:
		return "high"
	default:
		return ""
	}
}
