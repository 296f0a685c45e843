package turn

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
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// Turn is a response that is being made. The model is asked once, or in rounds while it calls tools of the service's.
type Turn struct {
	env *Env
	// settings are the request's.
	settings *settings.Snapshot
	Request  *input.Request
	Headers  http.Header
	owner    store.Tenant
	bound    *seal.Bound
	ID       string
	created  time.Time
	// past are the items before the input.
	past, input []store.Item
	// carried reports whether past is not in the store, because only a connection has it.
	carried bool

	stream

	// last is the newest object, without its output.
	last upstream.Object
	// opening is the number of events before the first one that shows something of the model's answer, or 0.
	opening int64
	// opened reports whether the events with which a stream begins are not the gateway's. prepared reports whether what
	// comes before the model's items is known.
	opened, prepared bool
	// pulse keeps the client's stream alive. It is nil if nothing does.
	pulse *pulse
	// marked is how far the stream was when the gateway was asked.
	marked mark
	// lost reports whether the last attempt ended by a fault of the model's server, and failure what the gateway's event
	// error has said of it, or nil.
	lost    bool
	failure *openai.Error
	// handed reports whether other servers were asked for the last answer, as often as they may be.
	handed bool
	// framed reports whether the events go over a WebSocket.
	framed bool

	loop
	browsing browsing

	// triggered reports whether the request is for a compaction, and not for an answer.
	triggered bool
	// compaction is the item that stands for everything before it, and shortened what the model is asked with then.
	compaction json.RawMessage
	shortened  []json.RawMessage
	// summary holds the finished items of the answer to a request for a compaction.
	summary []json.RawMessage
}

// ending is the last event of an answer of the gateway's.
type ending struct {
	kind   string
	object upstream.Object
}

// refusedError means that the gateway or the service has refused the request.
type refusedError struct{ failure *openai.Error }

// Error implements error.
func (e *refusedError) Error() string { return e.failure.Message }

// Run makes the response. It calls emit for each event but the last ones, which [Turn.LastEvents] makes of the outcome. An
// error means that the request was refused, and that there was no event.
func (t *Turn) Run(ctx context.Context, emit func(*upstream.Event) error) (*Outcome, *openai.Error) {
	for _, prepare := range []func(context.Context) *openai.Error{t.list, t.compact} {
		if failure := prepare(ctx); failure != nil {
			return t.broken(ctx, &refusedError{failure}, emit)
		}
	}
	t.prepared = true
	if t.opened { // while it was prepared
		if err := t.showOwn(emit); err != nil {
			return t.broken(ctx, err, emit)
		}
	}
	if t.hosted != nil {
		defer func() { t.env.Metrics.Rounded(t.rounds) }()
		defer t.finder.close()
	}
	if err := t.runApproved(ctx, emit); err != nil {
		return t.broken(ctx, err, emit)
	}
	for {
		end, err := t.askRetrying(ctx, emit)
		again := false
		if err == nil {
			again, err = t.runCalls(ctx, end, emit)
		}
		switch {
		case err != nil:
			return t.broken(ctx, err, emit)
		case !again:
			t.own(end.object)
			return t.end(end.kind, end.object.Text("status"), end.object), nil
		}
	}
}

// askRetrying asks the model, and once more if its answer was lost before the client has seen any of it.
func (t *Turn) askRetrying(ctx context.Context, emit func(*upstream.Event) error) (*ending, error) {
	t.markNow()
	t.opening, t.begun = 0, 0
	end, err := t.ask(ctx, emit)
	shown := t.Request.Stream && t.opening > 0 && t.sequence > t.opening
	if !t.lost || shown || ctx.Err() != nil || !t.retries() || t.handed {
		return end, err
	}
	t.env.Log.Warn("the answer was lost before the client saw any of it; asking once more", "response", t.ID)
	t.begun = t.sequence
	if t.opening > 0 {
		t.begun = min(t.sequence, t.opening)
	}
	t.sequence, t.index, t.output, t.summary = t.marked.sequence, t.marked.index, t.output[:t.marked.finished], nil
	end, err = t.ask(ctx, emit)
	t.sequence = max(t.sequence, t.begun)
	return end, err
}

// retries reports whether an answer that is lost before its client has seen any of it is asked for once more.
func (t *Turn) retries() bool {
	relay := t.settings.Model(t.Request.Model).Relay
	return relay == contract.RelayRetry || relay == contract.RelayResume
}

// ask sends the request once, and passes the events on.
func (t *Turn) ask(ctx context.Context, emit func(*upstream.Event) error) (end *ending, err error) {
	ctx, span := t.roundSpan(ctx)
	defer func() { endRound(ctx, span, end, err) }()
	return t.askOnce(ctx, emit)
}

func (t *Turn) askOnce(ctx context.Context, emit func(*upstream.Event) error) (*ending, error) {
	t.indexes = map[int]int{}
	t.leaveOpen()
	t.lost, t.failure, t.round = false, nil, round{last: t.lastRound(t.settings.Tools.Rounds)}
	if t.started() {
		t.opening = t.sequence
	}
	source, failure := t.openSource(ctx)
	if failure != nil {
		t.lost = upstream.Lost(failure)
		return nil, &refusedError{failure}
	}
	defer source.close()
	for {
		e, err := source.next(ctx)
		if err == nil && t.triggered {
			if err = t.takeSummary(&e, emit); err == nil && e.Kind == "" {
				continue
			}
		}
		var end upstream.Object
		if err == nil {
			end, err = t.take(&e, emit)
		}
		if err != nil {
			t.lost = !errors.Is(err, quota.ErrNoMemory)
			return nil, err
		}
		if end != nil {
			t.lost = end.Text("status") == items.Failed && upstream.ErrorCode(end) == contract.CodeServerError
			return &ending{e.Kind, end}, nil
		}
		if err := t.deliverRound(&e, emit); err != nil {
			return nil, err
		}
	}
}

// post sends a plain request to the gateway.
func (t *Turn) post(ctx context.Context, path string, body []byte) (*http.Response, *openai.Error) {
	return t.send(ctx, t.question(path, body))
}

// send sends a question to the gateway.
func (t *Turn) send(ctx context.Context, q *upstream.Question) (*http.Response, *openai.Error) {
	type reply struct {
		answer  *http.Response
		failure *openai.Error
	}
	r := awaited(t, func() (r reply) {
		r.answer, r.failure = t.env.Gateway.Post(ctx, q) //nolint:bodyclose // the caller's to close
		return r
	})
	return r.answer, r.failure
}

// postFor sends a plain request to the gateway and reads its answer.
func (t *Turn) postFor(ctx context.Context, path string, body []byte, into any) *openai.Error {
	q := t.question(path, body)
	return awaited(t, func() *openai.Error { return t.env.Gateway.PostFor(ctx, q, into) })
}

func (t *Turn) question(path string, body []byte) *upstream.Question {
	return &upstream.Question{URL: t.settings.Gateway + path, Headers: t.Headers, Body: body}
}

// started reports whether the client has the events with which a stream begins.
func (t *Turn) started() bool { return t.rounds > 0 || t.opened }

// deliverRound gives the client an event that it is to see, and after the first ones what the service has for it.
func (t *Turn) deliverRound(e *upstream.Event, emit func(*upstream.Event) error) error {
	if e.Kind == "" {
		return nil
	}
	if err := t.pass(e, emit); err != nil {
		return err
	}
	if e.Kind == "response.in_progress" {
		return t.showOwn(emit)
	}
	return t.showCited(emit)
}

// showOwn gives the client the items that come before the model's.
func (t *Turn) showOwn(emit func(*upstream.Event) error) error {
	if t.compaction != nil && !t.triggered {
		if err := t.showItem(t.compaction, emit); err != nil {
			return err
		}
	}
	if err := t.showLists(emit); err != nil {
		return err
	}
	t.opening = t.sequence
	return nil
}

// body returns the plain request.
func (t *Turn) body() []byte {
	fields, asked := t.Request.Fields, t.asked()
	if includes := t.includesAsked(); len(includes) > len(t.Request.Includes) {
		fields = maps.Clone(fields)
		fields["include"] = items.JSON(includes)
	}
	last := []json.RawMessage{}
	if t.triggered {
		fields, asked, last = items.SummaryFields(fields), items.ForSummary(asked), append(last, items.SummaryRequest())
	} else if t.hosted != nil {
		fields = t.roundFields(fields)
	}
	list := append(asked, last...)
	body := input.Plain(fields, list, true)
	if int64(len(body)) <= t.settings.BodyLimit {
		return body
	}
	// The texts may fit without the ids of how they are spelled.
	for i := range list {
		list[i] = items.WithoutSampled(list[i])
	}
	return input.Plain(fields, list, true)
}

// asked returns what the model is asked with: the past and the input, or what is left of them after a compaction, and
// the output of the rounds before.
func (t *Turn) asked() (all []json.RawMessage) {
	all = append(all, t.shortened...)
	if t.shortened == nil {
		for _, list := range [][]store.Item{t.past, t.input} {
			for i := range list {
				all = append(all, items.ForModel(&list[i])...)
			}
		}
	}
	if t.hosted == nil {
		return all
	}
	for _, raw := range t.output {
		if item := items.Of(raw); item.Type != items.TypeCompaction {
			all = append(all, items.ForModel(&item)...)
		}
	}
	return all
}
