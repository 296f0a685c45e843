package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// effortNamed is the effort that a setting names; the zero Effort is a refusal.
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

// standIns are the words of the API, each with the setting of what the model is told.
func standIns(m *contract.Model) [7]struct{ word, setting string } {
	e := &m.ReasoningEfforts
	return [...]struct{ word, setting string }{
		{"none", e.None}, {"minimal", e.Minimal},
		{"low", contract.EffortLow}, {"medium", contract.EffortMedium}, {"high", contract.EffortHigh},
		{"xhigh", e.XHigh}, {"max", e.Max},
	}
}

// effortOf is the effort that the client's word stands for, or without one the model's own; param is where it stood.
func effortOf(m *contract.Model, word, param string) (harmony.Effort, *openai.Error) {
	if word == "" {
		return effortNamed(m.System.Effort), nil
	}
	offered := ""
	for _, e := range standIns(m) {
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
