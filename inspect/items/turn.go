package items

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/inspect/explain"
)

// Turn is a stored response.
type Turn struct {
	// Object is the response as its client gets it. Nil: there is none, and Input is what was there before.
	Object json.RawMessage
	// Input and Output are its items.
	Input, Output []json.RawMessage
}

// object has the members of a response that are shown.
type object struct {
	ID                string          `json:"id"`
	Model             string          `json:"model"`
	Status            string          `json:"status"`
	CreatedAt         int64           `json:"created_at"`
	Previous          string          `json:"previous_response_id"`
	Instructions      json.RawMessage `json:"instructions"`
	Tools             []tool          `json:"tools"`
	Error             json.RawMessage `json:"error"`
	IncompleteDetails *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Conversation *struct {
		ID string `json:"id"`
	} `json:"conversation"`
	Usage *struct {
		InputTokens  int64 `json:"input_tokens"`
		OutputTokens int64 `json:"output_tokens"`
	} `json:"usage"`
}

// tool is a tool that a response was made with.
type tool struct {
	Type        string `json:"type"`
	Name        string `json:"name"`
	ServerLabel string `json:"server_label"`
}

// Write prints a turn.
func Write(t *explain.Transcript, turn *Turn) {
	if turn.Object == nil {
		t.Heading("before, in the conversation", "")
	} else {
		writeObject(t, turn.Object)
	}
	for _, list := range [][]json.RawMessage{turn.Input, turn.Output} {
		for _, raw := range list {
			t.Message(Message(raw))
		}
	}
}

// writeObject prints what the response says of itself, and what its request said beside its items.
func writeObject(t *explain.Transcript, raw json.RawMessage) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Heading("a response", "not an object of the API: "+compact(raw))
		return
	}
	words := []string{o.ID, o.Model, o.Status}
	if o.CreatedAt != 0 {
		words = append(words, time.Unix(o.CreatedAt, 0).UTC().Format(time.RFC3339))
	}
	if o.Usage != nil {
		words = append(words, fmt.Sprintf("%d tokens in, %d out", o.Usage.InputTokens, o.Usage.OutputTokens))
	}
	warning := text(o.Error)
	if o.IncompleteDetails != nil {
		warning = strings.TrimSpace(o.IncompleteDetails.Reason + " " + warning)
	}
	t.Heading(strings.Join(nonEmpty(words), "  "), warning)
	if m := o.request(); len(m.Parts) > 0 || len(m.Fields) > 0 {
		t.Message(m)
	}
}

// request returns what the request said beside its items.
func (o *object) request() *explain.Message {
	m := &explain.Message{Author: "request"}
	if o.Previous != "" {
		m.Fields = append(m.Fields, explain.Field{Name: "continues", Value: o.Previous})
	}
	if o.Conversation != nil {
		m.Fields = append(m.Fields, explain.Field{Name: "conversation", Value: o.Conversation.ID})
	}
	var tools []string
	for _, one := range o.Tools {
		tools = append(tools, strings.Join(nonEmpty([]string{one.Type, one.ServerLabel, one.Name}), " "))
	}
	if len(tools) > 0 {
		m.Parts = append(m.Parts, explain.Part{Label: "tools", Text: strings.Join(tools, ", ")})
	}
	for _, instructions := range nonEmpty(contents(o.Instructions)) {
		m.Parts = append(m.Parts, explain.Part{Label: "instructions", Text: instructions})
	}
	return m
}

func nonEmpty(words []string) []string {
	var all []string
	for _, word := range words {
		if word != "" {
			all = append(all, word)
		}
	}
	return all
}
