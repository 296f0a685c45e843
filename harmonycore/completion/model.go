package completion

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// Model describes the model that answers.
type Model struct {
	// Name is the name that clients use. A request for another model is refused.
	Name string
	// ContextLength is the maximum length of a prompt and its answer together, in tokens.
	ContextLength int
	// Identity and KnowledgeCutoff are lines of the system message. An absent one is left out.
	Identity, KnowledgeCutoff harmony.Optional
	// Date is the date in the system message, as YYYY-MM-DD. If it is empty, the message has the current day in UTC.
	Date string
	// Effort is the reasoning effort of requests that name none.
	Effort harmony.Effort
	// Extras names the engines' own parameters that the program supports, such as top_k, min_p, repetition_penalty and
	// min_tokens. They arrive in [Sampling.Extras]. Other parameters of engines are ignored.
	Extras []string
	// StructuralTags reports whether the program enforces [Request.StructuralTag]. If it does not, requests that need it
	// are refused: forced calls of one tool among several, JSON schemas and grammars.
	StructuralTags bool
}

// GPTOSS returns a gpt-oss model with the settings that it was trained with. Clients call it by name.
func GPTOSS(name string) Model {
	return Model{
		Name: name, ContextLength: 131072,
		Identity:        harmony.Some("You are ChatGPT, a large language model trained by OpenAI."),
		KnowledgeCutoff: harmony.Some("2024-06"),
		Effort:          harmony.Medium,
	}
}

// served returns the model's settings in the form that the gateway uses.
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
			// The translation itself reads these two.
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
