package items

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// The statuses of a response that has ended.
const (
	Completed  = "completed"
	Incomplete = "incomplete"
	Failed     = "failed"
	Cancelled  = "cancelled"
)

// Of returns an item of the output as the store has it.
func Of(raw json.RawMessage) store.Item {
	var fields struct{ ID, Type string }
	_ = json.Unmarshal(raw, &fields) // without a type, it is an item like any other
	return store.Item{ID: fields.ID, Type: fields.Type, Body: raw}
}

// Preambles reports of each item of an output whether it is what the model has said before a call. Messages of a model
// whose servers take conversations have no phase.
func Preambles(output []json.RawMessage) []bool {
	said := make([]bool, len(output))
	called := false
	for i, raw := range slices.Backward(output) {
		var item struct{ Type, Phase string }
		_ = json.Unmarshal(raw, &item) // without a type, it is an item like any other
		called = called || strings.HasSuffix(item.Type, "_call")
		said[i] = item.Type == TypeMessage && (item.Phase == openai.PhaseCommentary || item.Phase == "" && called)
	}
	return said
}

// IsAnswer reports whether an item is an answer on the final channel.
func IsAnswer(raw json.RawMessage) bool {
	var item struct{ Type, Phase, Status string }
	return json.Unmarshal(raw, &item) == nil && item.Type == TypeMessage && item.Phase != openai.PhaseCommentary &&
		item.Status == Completed
}

// WithoutSealed returns a finished item without its sealed text.
func WithoutSealed(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields["encrypted_content"] == nil {
		return raw
	}
	delete(fields, "encrypted_content")
	return JSON(fields)
}

// ErrNoSummary means that the model has answered a request for a summary with something else.
var ErrNoSummary = errors.New("the model has written no summary")

// FinalText returns the text of an answer.
func FinalText(output []json.RawMessage) (string, error) {
	var b strings.Builder
	for _, raw := range output {
		var item struct {
			Content []struct{ Text string }
		}
		if IsAnswer(raw) && json.Unmarshal(raw, &item) == nil {
			for i := range item.Content {
				b.WriteString(item.Content[i].Text)
			}
		}
	}
	if strings.TrimSpace(b.String()) == "" {
		return "", ErrNoSummary
	}
	return b.String(), nil
}
