package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// effortNamed returns the effort that a setting names. The zero Effort means that the request is refused.
func effortNamed(word string) harmony.Effort {
	switch word {
	case contract.EffortLow:
		return harmony.Low
	case contract.EffortMedium:
		return harmony.Medium
	case contract.EffortHigh:
		return harmony.High
	default:
		return 0
	}
}

// effortSettings returns the API's words for efforts, each with the setting of the effort that the model gets.
func effortSettings(m *contract.Model) [7]struct{ word, setting string } {
	e := &m.ReasoningEfforts
	return [...]struct{ word, setting string }{
		{"none", e.None}, {"minimal", e.Minimal},
		{"low", contract.EffortLow}, {"medium", contract.EffortMedium}, {"high", contract.EffortHigh},
		{"xhigh", e.XHigh}, {"max", e.Max},
	}
}

// effortOf returns the effort for the client's word, or the model's own if the word is empty. param is the place of the
// word, for the error.
func effortOf(m *contract.Model, word, param string) (harmony.Effort, *openai.Error) {
	if word == "" {
		return effortNamed(m.System.Effort), nil
	}
	offered := ""
	for _, e := range effortSettings(m) {
		effort := effortNamed(e.setting)
		if effort == 0 {
			continue
		}
		if e.word == word {
			return effort, nil
		}
		if offered != "" {
			offered += ", "
		}
		offered += "'" + e.word + "'"
	}
	return 0, openai.Unsupported(param, "Unsupported value: '"+param+"' cannot be '"+word+
		"' with this model. Supported values are: "+offered+".")
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
