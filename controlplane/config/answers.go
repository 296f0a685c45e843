package config

import (
	"fmt"

	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
)

// Answers says how the answers of a model are shaped. What is absent has the filter's default.
type Answers struct {
	// ReasoningFields is "both", "reasoning", "reasoning_content" or "none": under which names Chat answers carry reasoning.
	ReasoningFields string `yaml:"reasoning_fields"`
	// UndeclaredCalls is "reasoning" or "content": what a call to something that the client has not declared is told as.
	UndeclaredCalls string `yaml:"undeclared_calls"`
	// MaxChoices is the largest n of a Chat request; 0 is the default.
	MaxChoices int `yaml:"max_choices"`
	// Strict ends every answer at the first thing that the reference implementation would refuse.
	Strict bool `yaml:"strict"`
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
	f.Strict = a.Strict
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
	if a.MaxChoices < 0 || a.MaxChoices > filterconfig.MaxChoices {
		return "answers.max_choices", fmt.Sprintf("%d is out of range; use 1 to %d", a.MaxChoices, filterconfig.MaxChoices)
	}
	return "", ""
}
