package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// optional returns a setting as an [harmony.Optional]. An empty text is an absent setting.
func optional(setting string) harmony.Optional {
	if setting == "" {
		return harmony.Optional{}
	}
	return harmony.Some(setting)
}

// reasoningFields returns the fields of Chat answers that carry reasoning.
func reasoningFields(a *contract.Answers) openai.ReasoningFields {
	if a.HideReasoning {
		return openai.NoReasoning
	}
	switch a.ReasoningFields {
	case contract.ReasoningOnly:
		return openai.OnlyReasoning
	case contract.ReasoningContentOnly:
		return openai.OnlyReasoningContent
	case contract.ReasoningNone:
		return openai.NoReasoning
	default:
		return openai.BothReasoningFields
	}
}
