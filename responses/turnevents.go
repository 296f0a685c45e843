package responses

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/responses/store"
)

// take reads an event and changes it into the client's. It returns the outcome after the last event.
func (t *turn) take(e *event) (*outcome, error) {
	switch e.kind {
	case "response.created", "response.in_progress", "response.completed", "response.incomplete", "response.failed":
	case "response.output_item.done", "response.output_item.added":
		return nil, t.takeItem(e)
	default:
		return nil, t.renumber(e)
	}
	var body struct {
		Type     string          `json:"type"`
		Sequence json.RawMessage `json:"sequence_number"`
		Response object          `json:"response"`
	}
	if err := json.Unmarshal(e.data, &body); err != nil {
		return nil, err
	}
	if body.Response == nil {
		return nil, errors.New("an event without its response")
	}
	if t.compaction != nil {
		body.Sequence = mustMarshal(t.sequence)
	}
	o := body.Response
	t.own(o)
	var end *outcome
	if status := o.text("status"); status != store.InProgress {
		end = t.end(status, o)
	} else {
		t.last = o
	}
	e.data = mustMarshal(body)
	return end, nil
}

// own writes what only the service knows into an object of the gateway's.
func (t *turn) own(o object) {
	r := t.request
	o["id"], o["created_at"] = mustMarshal(t.id), mustMarshal(t.created.Unix())
	o["store"], o["background"] = mustMarshal(r.store), mustMarshal(r.background)
	if r.previous != "" {
		o["previous_response_id"] = mustMarshal(r.previous)
	}
	if r.conversation != "" {
		o["conversation"] = mustMarshal(map[string]string{"id": r.conversation})
	}
}

// takeItem keeps a finished item, and removes from it what is only for the store.
func (t *turn) takeItem(e *event) error {
	if e.kind == "response.output_item.added" && !t.sealing {
		return t.renumber(e)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(e.data, &body); err != nil {
		return err
	}
	if e.kind == "response.output_item.done" {
		if err := t.share.take(int64(len(body["item"]))); err != nil {
			return err
		}
		t.output = append(t.output, body["item"])
	}
	if t.sealing {
		body["item"] = withoutSealed(body["item"])
		e.data = mustMarshal(body)
	}
	return t.renumber(e)
}

// end returns the outcome of a turn whose last object is o, and changes o into the client's.
func (t *turn) end(status string, o object) *outcome {
	end := &outcome{status: status, code: errorCode(o)}
	if t.compactionShown && status != statusCancelled {
		t.output = append([]json.RawMessage{t.compaction}, t.output...)
	}
	for _, raw := range t.output {
		end.output = append(end.output, t.storedItem(raw))
		end.answered = end.answered || isAnswer(raw)
	}
	shown := t.output
	if t.sealing {
		shown = make([]json.RawMessage, len(t.output))
		for i, raw := range t.output {
			shown[i] = withoutSealed(raw)
		}
	}
	if shown == nil {
		shown = []json.RawMessage{}
	}
	delete(o, "output")
	end.stored = mustMarshal(o)
	o["output"] = mustMarshal(shown)
	end.object = mustMarshal(o)
	return end
}

// errorCode returns the code of a response's error.
func errorCode(o object) string {
	var failure struct{ Code string }
	_ = json.Unmarshal(orNull(o["error"]), &failure)
	return failure.Code
}

// storedItem returns a finished item as it is stored: with the text that only the service can open.
func (t *turn) storedItem(raw json.RawMessage) store.Item {
	var fields map[string]json.RawMessage
	item := store.Item{Body: raw}
	if json.Unmarshal(raw, &fields) != nil {
		return item
	}
	_ = json.Unmarshal(orNull(fields["id"]), &item.ID)
	_ = json.Unmarshal(orNull(fields["type"]), &item.Type)
	reader := itemReader{service: t.service, bound: t.bound}
	switch item.Type {
	case typeReasoning:
		if reader.unseal("", fields) != nil {
			return item
		}
		delete(fields, "encrypted_content")
	case typeCompaction:
		if reader.openCompaction("", fields) != nil {
			return item
		}
	default:
		return item
	}
	item.Body = mustMarshal(fields)
	return item
}

// isAnswer reports whether an item is an answer on the final channel.
func isAnswer(raw json.RawMessage) bool {
	var item struct{ Type, Phase, Status string }
	return json.Unmarshal(raw, &item) == nil && item.Type == typeMessage && item.Phase != openai.PhaseCommentary &&
		item.Status == statusCompleted
}

func withoutSealed(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields["encrypted_content"] == nil {
		return raw
	}
	delete(fields, "encrypted_content")
	return mustMarshal(fields)
}

// broken ends a turn whose stream has ended too early: it is cancelled if its client or an operator has ended it, and
// failed otherwise.
func (t *turn) broken(ctx context.Context, err error) (*outcome, *event, *openai.Error) {
	if t.sequence == 0 {
		return nil, nil, t.service.unreachable(err)
	}
	var left *leftError
	if ctx.Err() != nil || errors.As(err, &left) {
		t.output = nil
		return t.synthesize(statusCancelled, nil)
	}
	if errors.Is(err, errNoMemory) {
		return t.synthesize(statusFailed, errOverloaded("no memory for the rest of the answer"))
	}
	t.service.Log.Warn("the stream of a response was cut", "response", t.id, "error", err)
	return t.synthesize(statusFailed, &openai.Error{Code: contract.CodeServerError,
		Message: "The model's server ended the stream before the answer was complete. Try again."})
}

// synthesize ends a turn with an event of the service's own.
func (t *turn) synthesize(status string, failure *openai.Error) (*outcome, *event, *openai.Error) {
	o := object{}
	for name, value := range t.last {
		o[name] = value
	}
	o["status"] = mustMarshal(status)
	if failure != nil {
		o["error"] = mustMarshal(map[string]string{"code": failure.Code, "message": failure.Message})
	}
	end := t.end(status, o)
	return end, &event{kind: "response.failed", data: lifecycle("response.failed", t.sequence, end.object)}, nil
}

// open sends the events with which a stream begins, of the service's own making.
func (t *turn) open(o object, send func(*event) error) error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if err := send(&event{kind: kind, data: lifecycle(kind, t.sequence, mustMarshal(o))}); err != nil {
			return err
		}
		t.sequence++
	}
	return nil
}

// lifecycle returns the data of an event with a whole object.
func lifecycle(kind string, sequence int64, object []byte) []byte {
	return mustMarshal(struct {
		Type     string          `json:"type"`
		Sequence int64           `json:"sequence_number"`
		Response json.RawMessage `json:"response"`
	}{kind, sequence, object})
}

// object is a Response object.
type object map[string]json.RawMessage

func (o object) text(name string) (s string) {
	_ = json.Unmarshal(orNull(o[name]), &s)
	return s
}
