package responses

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/responses/store"
)

// The statuses of a response that has ended.
const (
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
)

// turn is a response that is being made.
type turn struct {
	service *Service
	request *request
	headers http.Header
	bound   *seal.Bound
	id      string
	created time.Time
	// past are the items before the input.
	past, input []store.Item
	// sealing reports whether the gateway is asked for the sealed reasoning only for the store. The client does not get it.
	sealing bool

	// output holds the finished items, as the gateway has sent them.
	output []json.RawMessage
	// last is the newest object, without its output.
	last object
	// sequence is the number of events that the client has got.
	sequence int64
}

// outcome is how a turn has ended.
type outcome struct {
	status string
	// object is the whole object for the client, and stored the one without output.
	object, stored []byte
	output         []store.Item
	// answered reports whether the output has a final answer.
	answered bool
}

// run asks the model. It calls emit for each event but the last one, which it returns with the outcome. An error means
// that the gateway has refused the request, and that there was no event.
func (t *turn) run(ctx context.Context, emit func(*event) error) (*outcome, *event, *openai.Error) {
	answer, failure := t.service.post(ctx, contract.ResponsesPath, t.headers, t.body())
	if failure != nil {
		return nil, nil, failure
	}
	defer answer.Body.Close()
	reader := newEventReader(answer.Body)
	for {
		e, err := reader.next()
		if err != nil {
			return t.broken(ctx, err)
		}
		end, err := t.take(&e)
		if err != nil {
			return t.broken(ctx, err)
		}
		if end != nil {
			return end, &e, nil
		}
		t.sequence++
		if err := emit(&e); err != nil {
			return t.broken(ctx, err)
		}
	}
}

// body returns the plain request.
func (t *turn) body() []byte {
	items := make([]json.RawMessage, 0, len(t.past)+len(t.input))
	for _, list := range [][]store.Item{t.past, t.input} {
		for i := range list {
			items = append(items, forModel(&list[i]))
		}
	}
	if t.sealing {
		include := append(t.request.includes[:len(t.request.includes):len(t.request.includes)], includeSealed)
		t.request.fields["include"] = mustMarshal(include)
	}
	return t.request.plain(items, true)
}

// take reads an event and changes it into the client's. It returns the outcome after the last event.
func (t *turn) take(e *event) (*outcome, error) {
	switch e.kind {
	case "response.created", "response.in_progress", "response.completed", "response.incomplete", "response.failed":
	case "response.output_item.done", "response.output_item.added":
		return nil, t.takeItem(e)
	default:
		return nil, nil
	}
	var body struct {
		Type     string          `json:"type"`
		Sequence json.RawMessage `json:"sequence_number"`
		Response object          `json:"response"`
	}
	if err := json.Unmarshal(e.data, &body); err != nil {
		return nil, err
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
		return nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(e.data, &body); err != nil {
		return err
	}
	if e.kind == "response.output_item.done" {
		t.output = append(t.output, body["item"])
	}
	if t.sealing {
		body["item"] = withoutSealed(body["item"])
		e.data = mustMarshal(body)
	}
	return nil
}

// end returns the outcome of a turn whose last object is o, and changes o into the client's.
func (t *turn) end(status string, o object) *outcome {
	end := &outcome{status: status}
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

// storedItem returns a finished item as it is stored: with the text of its reasoning.
func (t *turn) storedItem(raw json.RawMessage) store.Item {
	var fields map[string]json.RawMessage
	item := store.Item{Body: raw}
	if json.Unmarshal(raw, &fields) != nil {
		return item
	}
	_ = json.Unmarshal(orNull(fields["id"]), &item.ID)
	_ = json.Unmarshal(orNull(fields["type"]), &item.Type)
	if item.Type != typeReasoning {
		return item
	}
	reader := itemReader{service: t.service, bound: t.bound}
	if reader.unseal("", fields) == nil {
		delete(fields, "encrypted_content")
		item.Body = mustMarshal(fields)
	}
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
	if ctx.Err() != nil {
		t.output = nil
		return t.synthesize(statusCancelled, nil)
	}
	t.service.log.Warn("the stream of a response was cut", "response", t.id, "error", err)
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
