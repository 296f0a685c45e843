package server

import (
	"encoding/json"

	"github.com/harmonyedge/harmonyedge/sim/gptoss"
)

// StructuredOutputs is a request's structured_outputs. The server supports only structural tags.
type StructuredOutputs struct {
	JSON       json.RawMessage `json:"json"`
	Regex      json.RawMessage `json:"regex"`
	Choice     json.RawMessage `json:"choice"`
	Grammar    json.RawMessage `json:"grammar"`
	JSONObject json.RawMessage `json:"json_object"`
	Tag        *string         `json:"structural_tag"`
}

// ReadTag checks and compiles the constraint on a request's answer, and refuses what vLLM refuses. nil is no
// constraint.
func (s *StructuredOutputs) ReadTag() (*gptoss.Tag, *Refusal) {
	if s == nil {
		return nil, nil
	}
	kinds := 0
	for _, v := range []json.RawMessage{s.JSON, s.Regex, s.Choice, s.Grammar, s.JSONObject} {
		if v != nil && string(v) != "null" {
			kinds++
		}
	}
	switch {
	case kinds == 0 && s.Tag == nil:
		return nil, BadRequest("", "You must use one kind of structured outputs constraint but none are specified")
	case kinds > 1 || kinds > 0 && s.Tag != nil:
		return nil, BadRequest("", "You can only use one kind of structured outputs constraint but multiple are specified")
	case s.Tag == nil:
		return nil, BadRequest("structured_outputs", "The simulator knows structural tags only.")
	}
	f, err := gptoss.ReadTag([]byte(*s.Tag))
	if err != nil {
		return nil, BadRequest("", "Invalid structural tag specification.")
	}
	return f, nil
}

// ReadResponseFormat reads a response_format. The simulator knows structural tags only. It returns nil for a format
// that constrains nothing.
func ReadResponseFormat(raw json.RawMessage) (*StructuredOutputs, *Refusal) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	var format struct {
		Type string `json:"type"`
	}
	switch err := json.Unmarshal(raw, &format); {
	case err != nil:
		return nil, Invalid("body.response_format", err.Error())
	case format.Type == "text":
		return nil, nil
	case format.Type != "structural_tag":
		return nil, BadRequest("", "The simulator knows structural tags only.")
	}
	tag := string(raw)
	return &StructuredOutputs{Tag: &tag}, nil
}
