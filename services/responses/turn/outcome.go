package turn

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// Outcome is how a turn has ended.
type Outcome struct {
	Status string
	// kind is the kind of the last event.
	kind string
	// object is the whole object for the client, and stored the one without output.
	object, stored []byte
	output         []store.Item
	// preambles reports of each item of the output whether it is what the model has said before a call.
	preambles []bool
	// answered reports whether the output has a final answer.
	answered bool
	// refusal is why the gateway refused a later round, or nil.
	refusal *openai.Error
}

// compacted reports whether the output stands for everything before it.
func (o *Outcome) compacted() bool {
	return len(o.output) > 0 && o.output[0].Type == items.TypeCompaction
}

// dropsReasoning reports whether the reasoning before the answer is removed from the store.
func (o *Outcome) dropsReasoning(by *settings.Snapshot) bool {
	return by.Reasoning == settings.KeepUntilFinal && o.answered
}

// kept returns the items that the service is to store. preambles reports of the first ones whether they are known to be
// preambles, whatever they say themselves.
func (o *Outcome) kept(by *settings.Snapshot, list []store.Item, preambles []bool) (kept []store.Item) {
	for i := range list {
		switch {
		case list[i].Type == items.TypeReasoning && (by.Reasoning == settings.KeepNone || o.dropsReasoning(by)):
		case by.DropCommentary && (i < len(preambles) && preambles[i] || items.IsCommentary(&list[i])):
		default:
			kept = append(kept, list[i])
		}
	}
	// Ids spell all that the model has written, also what is not stored.
	items.DropIDs(kept, by.Reasoning == settings.KeepNone || by.Reasoning == settings.KeepUntilFinal || by.DropCommentary)
	return kept
}
