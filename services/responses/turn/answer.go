package turn

import (
	"context"
	"net/http"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// New returns a turn whose past and input are not read yet.
func (e *Env) New(request *input.Request, c *input.Caller) (*Turn, *openai.Error) {
	c.Model = request.Model
	tools, failure := c.Settings.Operator.Take(request.Fields, request.Background)
	t := &Turn{
		env: e, settings: c.Settings, Request: request, Headers: c.Headers, owner: c.Tenant,
		bound: c.Bound(request.Model), ID: items.NewID("resp"), created: e.Now(), loop: loop{hosted: tools},
		stream: stream{share: c.Share, includes: request.Includes,
			// The next response needs the reasoning, and so does the next round.
			sealing: (request.Store || tools != nil) && request.Seals(c.Settings)},
	}
	if request.Store || tools != nil {
		t.keepIDs()
	}
	return t, failure
}

// ReadInput reads the items of the request.
func (t *Turn) ReadInput(ctx context.Context, c *input.Caller, past *store.Past) (failure *openai.Error) {
	if failure = t.Fits(past.Items); failure != nil {
		return failure
	}
	t.past = past.Items
	t.env.Metrics.Continued(past)
	reader := t.env.NewReader(c, t.bound, past.Items)
	t.input, failure = reader.Read(ctx, "input", t.takeTrigger())
	t.Request.Input = nil // it would be kept beside what was read of it
	t.approvals = reader.Approvals
	if t.triggered {
		t.hosted = nil // a summary needs no tools
	}
	if failure == nil && len(t.approvals) > 0 && (t.triggered || t.Request.Prewarm) {
		at := t.approvals[0].At
		failure = refusal.Bad(contract.CodeInvalidValue, at,
			"Invalid '"+at+"': a request without an answer of the model cannot "+
				"approve a call.")
	}
	return failure
}

// Record returns what is stored of a turn.
func (t *Turn) Record(end *Outcome, past *store.Past) *store.Record {
	input := t.input
	if t.carried {
		input = slices.Concat(t.past, t.input)
	}
	r := &store.Record{
		Response: store.Response{ID: t.ID, Status: end.Status, CreatedAt: t.created, Object: end.stored},
		Input:    end.kept(t.settings, input, nil), Output: end.kept(t.settings, end.output, end.preambles),
		Retention:     t.settings.Retention,
		Past:          past,
		DropReasoning: end.dropsReasoning(t.settings), Compacted: end.compacted(),
	}
	if past.InConversation() && end.Status != items.Completed {
		// Input and output join the conversation after the response has completed, and not otherwise.
		alone := store.Past{}
		r.Past = &alone
	}
	return r
}

// leftError means that the client takes no more of its stream.
type leftError struct{ err error }

// Error implements error.
func (e *leftError) Error() string { return "the client has left: " + e.err.Error() }

// Deliver runs the turn and sends its events, and signs of life where the model's configuration asks for them. The last
// events are sent when the end has been saved.
func (t *Turn) Deliver(ctx context.Context, send func(*upstream.Event) error,
	save func(*Outcome) *openai.Error) *openai.Error {
	if every := t.settings.KeepAliveOf(t.Request.Model); every > 0 {
		t.pulse = newPulse(every, send, t.env.Metrics.KeptAlive)
		defer t.pulse.stop()
		send = t.pulse.emit
	}
	end, failure := t.Run(ctx, func(e *upstream.Event) error {
		if err := send(e); err != nil {
			return &leftError{err}
		}
		return nil
	})
	if failure != nil {
		return failure
	}
	t.finish(ctx, end, send, save)
	return nil
}

// finish saves how the turn has ended, and sends its last events.
func (t *Turn) finish(ctx context.Context, end *Outcome, send func(*upstream.Event) error,
	save func(*Outcome) *openai.Error) {
	if failure := save(end); failure != nil {
		end = t.synthesize(items.Failed, &openai.Error{Code: contract.CodeServerError, Message: failure.Message})
	}
	t.env.Metrics.Finished(end.Status)
	for _, e := range t.LastEvents(end) {
		if err := send(e); err != nil {
			if ctx.Err() == nil {
				t.env.Log.Debug("the client did not take the end of its stream", "response", t.ID, "error", err)
			}
			return
		}
	}
}

// Whole makes the response, and returns all of it.
func (t *Turn) Whole(ctx context.Context, save func(*Outcome) *openai.Error) ([]byte, *openai.Error) {
	end, failure := t.Run(ctx, func(*upstream.Event) error { return nil })
	if failure != nil {
		return nil, failure
	}
	failure = t.Failure(end)
	// Clients repeat a request that has failed for a while, and its tools would run twice. So a response whose tools have
	// run is answered as it is, and can be continued.
	kept := t.calls > 0 && (failure == nil || clientsRepeat(failure.Status))
	if failure == nil || kept {
		if unsaved := save(end); unsaved != nil && kept {
			end = t.synthesize(items.Failed, &openai.Error{Code: contract.CodeServerError, Message: unsaved.Message})
		} else if unsaved != nil {
			failure = unsaved
		}
	}
	if failure != nil && !kept {
		t.env.Metrics.Finished(items.Failed)
		return nil, failure
	}
	t.env.Metrics.Finished(end.Status)
	return end.object, nil
}

// clientsRepeat reports whether clients repeat a request that is answered with a status, as OpenAI's do.
func clientsRepeat(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusRequestTimeout ||
		status == http.StatusConflict || status == http.StatusTooManyRequests
}

// Count asks the gateway how many tokens the request has. The answer is the caller's to close.
func (t *Turn) Count(ctx context.Context) (*http.Response, *openai.Error) {
	if failure := t.list(ctx); failure != nil {
		return nil, failure
	}
	t.sealing, t.sampling = false, false
	return t.post(ctx, contract.InputTokensPath, t.body())
}

// Frame makes the events a connection's.
func (t *Turn) Frame() {
	t.framed = true
	// The next request needs the reasoning, stored or not.
	t.sealing = t.Request.Seals(t.settings)
	t.keepIDs()
}

// Conversation returns the whole conversation after a turn, as a connection remembers it.
func (t *Turn) Conversation(end *Outcome) []store.Item {
	if end.compacted() {
		return end.output
	}
	return slices.Concat(t.past, t.input, end.output)
}

// Carry says that what the turn continues is not in the store.
func (t *Turn) Carry() { t.carried = true }
