package turn

import (
	"bytes"
	"encoding/json"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// CarryOn gives the turn what it continues and its input, as they were stored.
func (t *Turn) CarryOn(past, input []store.Item) { t.past, t.input = past, input }

// Within returns the limit of what the turn can continue.
func (t *Turn) Within() store.Limit {
	return (&input.Caller{Settings: t.settings, Share: t.share}).Within()
}

// Begins reports whether the event that is being sent is the first.
func (t *Turn) Begins() bool { return t.sequence == 1 }

// Newest returns the newest object, without its output.
func (t *Turn) Newest() []byte { return items.JSON(t.last) }

// RunsTools reports whether the request has tools that the service runs.
func (t *Turn) RunsTools() bool { return t.hosted != nil }

// Finished returns the finished items.
func (t *Turn) Finished() []json.RawMessage { return t.output }

// Restore gives back the finished items to a turn that was stopped, and has dropped them.
func (t *Turn) Restore(output []json.RawMessage) { t.output = output }

// TakeStored takes over the object of a response that another replica has begun. If it cannot be read,
// the turn's object stays as it was queued.
func (t *Turn) TakeStored(r *store.Response) {
	_ = json.Unmarshal(r.Object, &t.last)
	t.Request.Stream = r.Streamed
}

// TakeEvents takes over the items that are finished in stored events.
func (t *Turn) TakeEvents(events []byte) {
	reader := upstream.NewReader(bytes.NewReader(events))
	for {
		e, err := reader.Next()
		if err == nil {
			err = t.follow(&e)
		}
		if err == nil && e.Kind == "response.output_item.done" {
			err = t.takeItem(&e)
		}
		if err != nil {
			return
		}
	}
}

// Sent says how many events the client has.
func (t *Turn) Sent(events int64) { t.sequence = events }

// Failed ends the turn with an error. Its stream gets the events that a client expects.
func (t *Turn) Failed(message string, send func(*upstream.Event) error) *Outcome {
	if t.last == nil {
		t.last = upstream.Object{"id": items.JSON(t.ID), "object": items.JSON("response"),
			"status": items.JSON(store.Queued)}
	}
	if t.sequence == 0 {
		t.last["status"] = items.JSON(store.InProgress)
		o := upstream.Object{"output": items.JSON([]string{})}
		for name, value := range t.last {
			o[name] = value
		}
		_ = t.open(o, send)
	}
	_ = t.closeOpen(send) // a stream that takes no event has no use for its end either
	return t.synthesize(items.Failed, &openai.Error{Code: contract.CodeServerError, Message: message})
}

// StoredOutcome returns what is stored of how the turn has ended, without its events.
func (t *Turn) StoredOutcome(end *Outcome) *store.Outcome {
	return &store.Outcome{Status: end.Status, Object: end.stored, Output: end.kept(t.settings, end.output, end.preambles),
		DropReasoning: end.dropsReasoning(t.settings), Compacted: end.compacted(),
		JoinConversation: end.Status == items.Completed}
}
