package responses

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
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
	share   *share
	id      string
	created time.Time
	// past are the items before the input.
	past, input []store.Item
	// carried reports whether past is not in the store, because only a connection has it.
	carried bool
	// sealing reports whether the gateway is asked for the sealed reasoning only for the store. The client does not get
	// it.
	sealing bool

	// output holds the finished items, as the gateway has sent them.
	output []json.RawMessage
	// last is the newest object, without its output.
	last object
	// sequence is the number of events that the client has got.
	sequence int64
	// begun is the number of events that the client has from an earlier attempt.
	begun int64
	// lost reports whether the last attempt ended by a fault of the model's server.
	lost bool

	// triggered reports whether the request is for a compaction, and not for an answer.
	triggered bool
	// compaction is the item that stands for everything before it, and shortened what the model is asked with then.
	compaction json.RawMessage
	shortened  []json.RawMessage
	// summary holds the finished items of the answer to a request for a compaction.
	summary []json.RawMessage
	// compactionShown reports whether the client has got the item.
	compactionShown bool
}

// outcome is how a turn has ended.
type outcome struct {
	status string
	// object is the whole object for the client, and stored the one without output.
	object, stored []byte
	output         []store.Item
	// answered reports whether the output has a final answer.
	answered bool
	// code is that of a failed response's error.
	code string
}

// run asks the model. It calls emit for each event but the last one, which it returns with the outcome. An error means
// that the gateway has refused the request, and that there was no event.
func (t *turn) run(ctx context.Context, emit func(*event) error) (*outcome, *event, *openai.Error) {
	if failure := t.compact(ctx); failure != nil {
		return nil, nil, failure
	}
	end, last, failure := t.ask(ctx, emit)
	if !t.lost || t.shown() || ctx.Err() != nil || !t.service.Retries(t.request.model) {
		return end, last, failure
	}
	t.service.Log.Warn("the answer was lost before the client saw any of it; asking once more", "response", t.id)
	t.begun, t.sequence, t.output, t.summary, t.compactionShown = min(t.sequence, lifecycleEvents), 0, nil, nil, false
	end, last, failure = t.ask(ctx, emit)
	if failure != nil && t.begun > 0 {
		t.sequence = t.begun
		return t.synthesize(statusFailed, failure)
	}
	return end, last, failure
}

// lifecycleEvents is the number of events before the first one that shows something of the answer.
const lifecycleEvents = 2

// shown reports whether the client has seen something of the answer.
func (t *turn) shown() bool { return t.request.stream && t.sequence > lifecycleEvents }

// ask sends the request once, and passes the events on.
func (t *turn) ask(ctx context.Context, emit func(*event) error) (*outcome, *event, *openai.Error) {
	t.lost = false
	answer, failure := t.service.post(ctx, contract.ResponsesPath, t.headers, t.body())
	if failure != nil {
		t.lost = failure.Code == contract.CodeServerError && failure.Status >= http.StatusInternalServerError
		return nil, nil, failure
	}
	defer answer.Body.Close()
	reader := newEventReader(answer.Body)
	for {
		e, err := reader.next()
		if err == nil && t.triggered {
			if err = t.takeSummary(&e, emit); err == nil && e.kind == "" {
				continue
			}
		}
		var end *outcome
		if err == nil {
			end, err = t.take(&e)
		}
		if err != nil {
			t.lost = !errors.Is(err, errNoMemory)
			return t.broken(ctx, err)
		}
		if end != nil {
			t.lost = end.status == statusFailed && end.code == contract.CodeServerError
			return end, &e, nil
		}
		if err := t.pass(&e, emit); err != nil {
			return t.broken(ctx, err)
		}
		if e.kind == "response.in_progress" && t.compaction != nil && !t.triggered {
			if err := t.showCompaction(emit); err != nil {
				return t.broken(ctx, err)
			}
		}
	}
}

// pass gives an event to the client, if it does not have it from an earlier attempt.
func (t *turn) pass(e *event, emit func(*event) error) error {
	t.sequence++
	if t.sequence <= t.begun {
		return nil
	}
	return emit(e)
}

// body returns the plain request.
func (t *turn) body() []byte {
	fields := t.request.fields
	if t.sealing {
		fields = maps.Clone(fields)
		fields["include"] = mustMarshal(append(t.request.includes[:len(t.request.includes):len(t.request.includes)],
			includeSealed))
	}
	if t.triggered {
		return plain(summaryFields(fields), append(t.items(), summaryRequest()), true)
	}
	return plain(fields, t.items(), true)
}

// items returns what the model is asked with: the past and the input, or what is left of them after a compaction.
func (t *turn) items() (items []json.RawMessage) {
	if t.shortened != nil {
		return t.shortened
	}
	for _, list := range [][]store.Item{t.past, t.input} {
		for i := range list {
			items = append(items, forModel(&list[i])...)
		}
	}
	return items
}
