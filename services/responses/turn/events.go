package turn

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// take reads an event and changes it into the client's. It returns the object of the last event. An event that the
// client does not get has no kind afterwards.
func (t *Turn) take(e *upstream.Event, emit func(*upstream.Event) error) (upstream.Object, error) {
	switch e.Kind {
	case "response.created", "response.in_progress", "response.completed", "response.incomplete", "response.failed":
	case "response.output_item.done", "response.output_item.added":
		return nil, t.takeItem(e)
	case "error": // the last events are the service's own: it may ask again, and the client sees no failure
		t.failure, e.Kind = upstream.ToldError(e.Data), ""
		return nil, nil
	default:
		if len(t.browsing.citing) > 0 {
			if err := t.browsing.takeText(e, func(before *upstream.Event) error {
				return t.passNumbered(before,
					emit)
			}); err != nil {
				return nil, err
			}
		}
		if e.Kind == "" {
			return nil, nil
		}
		if !t.numbers() {
			return nil, nil
		}
		return nil, t.renumber(e)
	}
	var body struct {
		Response upstream.Object `json:"response"`
	}
	if err := json.Unmarshal(e.Data, &body); err != nil {
		return nil, err
	}
	o := body.Response
	if o == nil {
		return nil, errors.New("an event without its response")
	}
	if o.Text("status") != store.InProgress {
		return o, nil
	}
	if t.started() {
		e.Kind = ""
		return nil, nil
	}
	t.own(o)
	t.last = o
	e.Data = upstream.Lifecycle(e.Kind, t.sequence, items.JSON(o))
	return nil, nil
}

// own writes what only the service knows into an object of the gateway's.
func (t *Turn) own(o upstream.Object) {
	r := t.Request
	o["id"], o["created_at"] = items.JSON(t.ID), items.JSON(t.created.Unix())
	o["store"], o["background"] = items.JSON(r.Store), items.JSON(r.Background)
	if r.Previous != "" {
		o["previous_response_id"] = items.JSON(r.Previous)
	}
	if r.Conversation != "" {
		o["conversation"] = items.JSON(map[string]string{"id": r.Conversation})
	}
	t.ownTools(o, r.Fields)
}

// takeItem keeps a finished item, and removes from it what is only for the service. A call of the service's tools is
// not for the client: it is kept until the round has ended.
func (t *Turn) takeItem(e *upstream.Event) error {
	added := e.Kind == "response.output_item.added"
	if added && !t.sealing && !t.numbers() {
		return nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &body); err != nil {
		return err
	}
	item := body["item"]
	if !added {
		item = t.takeIDs(item)
		body["item"] = item
		if err := t.share.Take(int64(len(item))); err != nil {
			return err
		}
	}
	if t.numbers() {
		if taken, err := t.takeNumbered(body, added); err != nil || taken {
			e.Kind = ""
			return err
		}
	}
	if added {
		if t.browses() {
			t.browser().begin(item, body["output_index"])
		}
	} else {
		item = t.browsing.citeItem(item)
		t.output = append(t.output, item)
	}
	body["item"] = t.shown(item)
	if t.sealing || t.sampling || t.numbers() {
		e.Data = items.JSON(body)
	}
	return nil
}

// end returns the outcome of a turn whose last event has the object o, and changes o into the client's.
func (t *Turn) end(kind, status string, o upstream.Object) *Outcome {
	t.usage.total(o)
	if t.opened {
		o["reasoning"] = t.last["reasoning"] // as the client has been told at the start, when no model had been asked
	}
	end := &Outcome{kind: kind, Status: status}
	shown := make([]json.RawMessage, 0, len(t.output))
	end.preambles = items.Preambles(t.output)
	for i, raw := range t.output {
		if t.browses() {
			raw = t.browser().withSources(raw)
		}
		end.output = append(end.output, t.storedItem(raw))
		end.answered = end.answered || items.IsAnswer(raw) && !end.preambles[i]
		shown = append(shown, t.shown(raw))
	}
	delete(o, "output")
	end.stored = items.JSON(o)
	o["output"] = items.JSON(shown)
	end.object = items.JSON(o)
	return end
}

// storedItem returns a finished item as it is stored: with the text that only the service can open.
func (t *Turn) storedItem(raw json.RawMessage) store.Item {
	item := items.Of(items.WithoutShownIDs(raw))
	if item.Type != items.TypeReasoning && item.Type != items.TypeCompaction {
		return item
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(item.Body, &fields) != nil {
		return item
	}
	switch item.Type {
	case items.TypeReasoning:
		if t.settings.Sealer.Unseal("", fields, t.bound) != nil {
			return item
		}
		delete(fields, "encrypted_content")
	case items.TypeCompaction:
		if t.settings.Sealer.OpenCompaction("", fields, t.bound) != nil {
			return item
		}
	}
	item.Body = items.JSON(fields)
	return item
}

// broken ends a turn whose stream has ended too early: it is cancelled if its client or an operator has ended it, and
// failed otherwise. What is open of a failed one is closed first.
func (t *Turn) broken(ctx context.Context, err error, emit func(*upstream.Event) error) (*Outcome, *openai.Error) {
	var refused *refusedError
	isRefused := errors.As(err, &refused)
	switch {
	case t.sequence == 0 && isRefused:
		return nil, refused.failure
	case t.sequence == 0:
		return nil, t.env.Gateway.Unreachable(err)
	}
	var left *leftError
	if ctx.Err() != nil || errors.As(err, &left) {
		t.output = nil
		return t.synthesize(items.Cancelled, nil), nil
	}
	if t.closeOpen(emit) != nil { // the client has left
		t.output = nil
		return t.synthesize(items.Cancelled, nil), nil
	}
	if isRefused {
		return t.refused(refused.failure), nil
	}
	if errors.Is(err, quota.ErrNoMemory) {
		return t.refused(refusal.Overloaded("no memory for the rest of the answer")), nil
	}
	t.env.Log.Warn("the stream of a response was cut", "response", t.ID, "error", err)
	return t.synthesize(items.Failed, refusal.AnswerCut()), nil
}

// refused ends a turn of which a later part was refused.
func (t *Turn) refused(failure *openai.Error) *Outcome {
	end := t.synthesize(items.Failed, &openai.Error{Code: upstream.CodeOfResponse(failure.Status),
		Message: failure.InStream().Message})
	end.refusal = failure
	return end
}

// synthesize ends a turn that the gateway has not ended.
func (t *Turn) synthesize(status string, failure *openai.Error) *Outcome {
	o := upstream.Object{}
	for name, value := range t.last {
		o[name] = value
	}
	o["status"] = items.JSON(status)
	if failure != nil {
		o["error"] = items.JSON(map[string]string{"code": failure.Code, "message": failure.Message})
	}
	return t.end("response.failed", status, o)
}

// LastEvents returns the last events of a turn. Before a failure goes the event error, as from the gateway. Over a
// WebSocket it does not: there a frame error is the whole answer to a request that was refused (RATIONALE.md#200).
func (t *Turn) LastEvents(end *Outcome) (events []*upstream.Event) {
	sequence := t.sequence
	if end.Status == items.Failed && !t.framed {
		failure := end.refusal
		if failure == nil {
			failure = upstream.FailedError(end.object)
		}
		if t.failure != nil && t.failure.Message == failure.Message {
			failure = t.failure
		}
		events = append(events, &upstream.Event{Kind: "error", Data: upstream.ErrorData(sequence, failure.InStream())})
		sequence++
	}
	return append(events, &upstream.Event{Kind: end.kind, Data: upstream.Lifecycle(end.kind, sequence, end.object)})
}
