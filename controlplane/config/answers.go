package config

import (
	"fmt"

	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
)

// Answers says how the answers of a model are shaped. What is absent has the filter's default.
type Answers struct {
	// ReasoningFields is "both", "reasoning", "reasoning_content" or "none": under which names Chat answers carry reasoning.
	ReasoningFields string `yaml:"reasoning_fields" jsonschema:"enum=both,enum=reasoning,enum=reasoning_content,enum=none"`
	// HideReasoning shows no client any reasoning. In Responses it still travels sealed, where there are keys.
	HideReasoning bool `yaml:"hide_reasoning"`
	// ReasoningAsSummary tells Responses clients that ask for a summary of the reasoning all of it as its summary.
	ReasoningAsSummary bool `yaml:"reasoning_as_summary"`
	// UndeclaredCalls is "reasoning" or "content": what a call to something that the client has not declared is told as.
	UndeclaredCalls string `yaml:"undeclared_calls" jsonschema:"enum=reasoning,enum=content"`
	// MaxChoices is the largest n of a Chat request; 0 is the default.
	MaxChoices int `yaml:"max_choices" jsonschema:"minimum=0,maximum=128"`
	// Strict ends every answer at the first thing that the reference implementation would refuse.
	Strict bool `yaml:"strict"`
	// Events is "chunks" or "channels": the form of Chat's streams where the client names none.
	Events string `yaml:"events" jsonschema:"enum=chunks,enum=channels"`
	// RequireFinalChannel makes an answer without a final message or a call a failure.
	RequireFinalChannel bool `yaml:"require_final_channel"`
	// HarmonyMessages lets Responses clients ask for the messages that the model has read and written.
	HarmonyMessages bool `yaml:"harmony_messages"`
}

func (a *Answers) fill(f *filterconfig.Answers) {
	if a.ReasoningFields != "" {
		f.ReasoningFields = a.ReasoningFields
	}
	if a.UndeclaredCalls != "" {
		f.UndeclaredCalls = a.UndeclaredCalls
	}
	if a.MaxChoices != 0 {
		f.MaxChoices = a.MaxChoices
	}
	f.Strict, f.HideReasoning, f.ReasoningAsSummary = a.Strict, a.HideReasoning, a.ReasoningAsSummary
	if a.Events != "" {
		f.Events = a.Events
	}
	f.RequireFinalChannel, f.HarmonyMessages = a.RequireFinalChannel, a.HarmonyMessages
}

// check returns the setting that is wrong and why, or nothing.
func (a *Answers) check() (field, reason string) {
	switch a.ReasoningFields {
	case "", "both", "reasoning", "reasoning_content", "none":
	default:
		return "answers.reasoning_fields", fmt.Sprintf("%q is not known; write both, reasoning, reasoning_content or none", a.ReasoningFields)
	}
	switch a.UndeclaredCalls {
	case "", "reasoning", "content":
	default:
		return "answers.undeclared_calls", fmt.Sprintf("%q is not known; write reasoning or content", a.UndeclaredCalls)
	}
	switch a.Events {
	case "", filterconfig.EventsChunks, filterconfig.EventsChannels:
	default:
		return "answers.events", fmt.Sprintf("%q is not known; write chunks or channels", a.Events)
	}
	if a.MaxChoices < 0 || a.MaxChoices > filterconfig.MaxChoices {
		return "answers.max_choices", fmt.Sprintf("%d is out of range; use 1 to %d", a.MaxChoices, filterconfig.MaxChoices)
	}
	return "", ""
}
