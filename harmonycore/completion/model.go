package completion

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// Model is the model that answers.
type Model struct {
	// Name is what clients call it. A request for another model is refused.
	Name string
	// ContextLength is how many tokens a prompt and its answer have together.
	ContextLength int
	// Identity and KnowledgeCutoff stand in the system message, where they are not absent.
	Identity, KnowledgeCutoff harmony.Optional
	// Date stands in the system message, as YYYY-MM-DD. If it is empty, the message has the current day, in UTC.
	Date string
	// Effort is the reasoning effort where the client names none.
	Effort harmony.Effort
	// Extras names parameters that engines have and OpenAI has not, such as top_k, min_p, repetition_penalty and
	// min_tokens: those that the program takes from [Sampling.Extras]. Others of a request are passed over.
	Extras []string
	// StructuralTags reports whether the program holds an answer to [Completion.StructuralTag]. Without it, requests that
	// need that are refused: forced calls of one tool among several, JSON schemas and grammars.
	StructuralTags bool
}

// GPTOSS returns a gpt-oss model with the settings that it was trained with, under the name that clients call it by.
func GPTOSS(name string) Model {
	return Model{
		Name: name, ContextLength: 131072,
		Identity:        harmony.Some("You are ChatGPT, a large language model trained by OpenAI."),
		KnowledgeCutoff: harmony.Some("2024-06"),
		Effort:          harmony.Medium,
	}
}

// served is the model as a gateway serves it.
func (m *Model) served() contract.Model {
	date := m.Date
	if date == "" {
		date = contract.DateUTC
	}
	return contract.Model{
		Name: m.Name, ServerModel: m.Name,
		ModelSettings: contract.ModelSettings{
			ContextLength: m.ContextLength, StructuredOutputs: m.structure(),
			ReasoningEfforts: contract.Efforts{
				None: contract.EffortRefuse, Minimal: contract.EffortLow, XHigh: contract.EffortHigh, Max: contract.EffortHigh,
			},
			// The translation honours these two.
			ServerExtras: append([]string{"stop_token_ids", "chat_template_kwargs"}, m.Extras...),
			System: contract.System{
				Identity: m.Identity.Value, KnowledgeCutoff: m.KnowledgeCutoff.Value, Date: date, Effort: m.effort(),
			},
		},
	}
}

func (m *Model) structure() string {
	if m.StructuralTags {
		return contract.StructuralTags
	}
	return contract.NoStructure
}

func (m *Model) effort() string {
	switch m.Effort {
	case harmony.Low:
		return contract.EffortLow
	case harmony.High:
		return contract.EffortHigh
	default:
		return contract.EffortMedium
	}
}
