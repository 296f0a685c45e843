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
	// Identity and KnowledgeCutoff are lines of the system message. An empty one is left out.
	Identity, KnowledgeCutoff string
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
	// TemplateCalls reports whether past calls are rendered as the model's chat template does. By default they are as the
	// model itself writes them, which prefix caches have.
	TemplateCalls bool
}

// GPTOSS returns a gpt-oss model with the settings that it was trained with. Clients call it by name.
func GPTOSS(name string) Model {
	d := contract.DefaultModel(name)
	return Model{
		Name: name, ContextLength: d.ContextLength,
		Identity: d.System.Identity, KnowledgeCutoff: d.System.KnowledgeCutoff, Effort: harmony.Medium,
	}
}

// settings returns the model's settings in the form that the gateway uses.
func (m *Model) settings() contract.Model {
	s := contract.DefaultModel(m.Name)
	s.ContextLength, s.StructuredOutputs = m.ContextLength, m.structuralTags()
	// The translation itself reads these two.
	s.ServerExtras = append([]string{"stop_token_ids", "chat_template_kwargs"}, m.Extras...)
	s.System.Identity, s.System.KnowledgeCutoff, s.System.Effort = m.Identity, m.KnowledgeCutoff, m.effort()
	if m.TemplateCalls {
		s.History.Calls = contract.HistoryTemplate
	}
	if m.Date != "" {
		s.System.Date = m.Date
	}
	return s
}

func (m *Model) structuralTags() string {
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
