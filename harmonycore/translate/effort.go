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
	for _, e := range effortSettings(m) {
		if effort := effortNamed(e.setting); effort != 0 && e.word == word {
			return effort, nil
		}
	}
	return 0, openai.Unsupported(param, "Unsupported value: '"+param+"' cannot be '"+word+
		"' with this model. Supported values are: "+offeredEfforts(m)+".")
}

// noEffort returns the effort for a client that wants no reasoning.
func noEffort(m *contract.Model) (harmony.Effort, *openai.Error) {
	if effort := effortNamed(m.ReasoningEfforts.None); effort != 0 {
		return effort, nil
	}
	return 0, openai.Unsupported("reasoning.enabled", "Unsupported value: 'reasoning.enabled' cannot be false with this "+
		"model, which always reasons. Use 'reasoning_effort'; its supported values are: "+offeredEfforts(m)+
		". 'include_reasoning' leaves the reasoning out of the answer.")
}

// offeredEfforts returns the API's words for efforts that the model accepts, for an error.
func offeredEfforts(m *contract.Model) string {
	offered := ""
	for _, e := range effortSettings(m) {
		if effortNamed(e.setting) == 0 {
			continue
		}
		if offered != "" {
			offered += ", "
		}
		offered += "'" + e.word + "'"
	}
	return offered
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
