package config

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// Answers says how the answers of a model are shaped.
type Answers struct {
	// ReasoningFields is "both", "reasoning", "reasoning_content" or "none": under which names Chat answers carry reasoning.
	ReasoningFields string
	// HideReasoning shows no client any reasoning. In Responses it still travels sealed, where there are keys.
	HideReasoning bool
	// ReasoningAsSummary tells Responses clients that ask for a summary of the reasoning all of it as its summary, and not as
	// its content.
	ReasoningAsSummary bool
	// UndeclaredCalls is "reasoning" or "content": what a call to something that the client has not declared is told as.
	UndeclaredCalls string
	// MaxChoices is the largest n of a Chat request, 1 to MaxChoices.
	MaxChoices int
	// Strict ends every answer at the first thing that the reference implementation would refuse.
	Strict bool
	// Events is EventsChunks or EventsChannels: the form of Chat's streams where the client names none.
	Events string
	// RequireFinalChannel makes an answer without a final message or a call a failure.
	RequireFinalChannel bool
	// HarmonyMessages lets Responses clients ask for the messages that the model has read and written.
	HarmonyMessages bool
}

// The settings of Answers.Events: the API's own chunks, or channel events (docs/channel-events.md).
const (
	EventsChunks   = "chunks"
	EventsChannels = "channels"
)

// MaxChoices is the most choices that OpenAI's API knows.
const MaxChoices = 128

// DefaultAnswers are those of a model that says nothing of them.
func DefaultAnswers() Answers {
	return Answers{ReasoningFields: "both", UndeclaredCalls: "reasoning", MaxChoices: MaxChoices, Events: EventsChunks}
}

func (p *parser) answers(path string, v *rawjson.Value, a *Answers) {
	p.object(path, v, func(name, key string, value *rawjson.Value) bool {
		switch name {
		case "reasoning_fields":
			a.ReasoningFields = p.oneOf(key, value, "both", "reasoning", "reasoning_content", "none")
		case "hide_reasoning":
			a.HideReasoning = p.boolean(key, value)
		case "reasoning_as_summary":
			a.ReasoningAsSummary = p.boolean(key, value)
		case "undeclared_calls":
			a.UndeclaredCalls = p.oneOf(key, value, "reasoning", "content")
		case "max_choices":
			a.MaxChoices = p.integer(key, value, 1, MaxChoices)
		case "strict":
			a.Strict = p.boolean(key, value)
		case "events":
			a.Events = p.oneOf(key, value, EventsChunks, EventsChannels)
		case "require_final_channel":
			a.RequireFinalChannel = p.boolean(key, value)
		case "harmony_messages":
			a.HarmonyMessages = p.boolean(key, value)
		default:
			return false
		}
		return true
	})
}

func (a *Answers) write(w *writer, otherwise *Answers) {
	w.text("reasoning_fields", a.ReasoningFields, otherwise.ReasoningFields)
	w.flag("hide_reasoning", a.HideReasoning, otherwise.HideReasoning)
	w.flag("reasoning_as_summary", a.ReasoningAsSummary, otherwise.ReasoningAsSummary)
	w.text("undeclared_calls", a.UndeclaredCalls, otherwise.UndeclaredCalls)
	w.integer("max_choices", a.MaxChoices, otherwise.MaxChoices)
	w.flag("strict", a.Strict, otherwise.Strict)
	w.text("events", a.Events, otherwise.Events)
	w.flag("require_final_channel", a.RequireFinalChannel, otherwise.RequireFinalChannel)
	w.flag("harmony_messages", a.HarmonyMessages, otherwise.HarmonyMessages)
}
