package turn

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// job is what is stored of a request that is answered in the background.
type job struct {
	Fields                 map[string]json.RawMessage `json:"fields"`
	Model                  string                     `json:"model"`
	Previous, Conversation string
	Stream                 bool
	Includes               []string
	Headers                http.Header
	Created                int64
	Bound                  seal.Bound
	Sealing, Triggered     bool
	Sampling               bool
	Approvals              []input.Approval
	// Queued is the object before the model was asked.
	Queued upstream.Object
}

// Queue returns what is stored of a turn that is made in the background: its record, and its request.
func (t *Turn) Queue(past *store.Past) (*store.Record, []byte, *openai.Error) {
	if failure := t.readQueued(); failure != nil {
		return nil, nil, failure
	}
	r := t.Request
	request := items.JSON(job{Fields: r.Fields, Model: r.Model, Previous: r.Previous, Conversation: r.Conversation,
		Stream: r.Stream, Includes: r.Includes, Headers: t.storedHeaders(), Created: t.created.Unix(),
		Bound: *t.bound, Sealing: t.sealing, Sampling: t.sampling,
		Triggered: t.triggered, Approvals: t.approvals, Queued: t.last})
	return &store.Record{
		Response: store.Response{ID: t.ID, Status: store.Queued, Background: true, Streamed: r.Stream,
			CreatedAt: t.created, Object: items.JSON(t.last)},
		Input: t.input, Retention: t.settings.Retention, Past: past}, request, nil
}

// readQueued checks the request as the gateway will, and makes the object of a response that is queued.
func (t *Turn) readQueued() *openai.Error {
	queued, failure := t.describe()
	if failure != nil {
		return failure
	}
	queued.Status = store.Queued
	t.last = t.object(queued)
	delete(t.last, "output")
	return nil
}

// describe checks the request as the gateway will, and returns the response without a status.
func (t *Turn) describe() (*openai.Response, *openai.Error) {
	text, free := t.body(), 0
	if t.settings.Model(t.Request.Model).Answers.TokenIDs {
		free = len(text) / 2 // the history may hold nothing but ids, which take no memory of their own
	}
	values, _ := rawjson.Count(text, rawjson.MaxDepth, openai.MaxValues) // Open reports what is wrong
	memory := items.MemoryPerDecoded * int64(values)
	if t.share.Hold(memory) != nil {
		return nil, refusal.Overloaded("no memory for another request now")
	}
	defer t.share.Drop(memory)
	body, failure := openai.OpenWithin(text, openai.MaxValues+free)
	if failure != nil {
		return nil, failure
	}
	decoded, failure := openai.DecodeResponsesRequest(body)
	if failure != nil {
		return nil, failure
	}
	return &openai.Response{ID: t.ID, Model: t.Request.Model, CreatedAt: t.created.Unix(), Effort: decoded.Effort,
		Echo: decoded.Echo}, nil
}

// object returns a response of the service's own making as the client gets it.
func (t *Turn) object(r *openai.Response) upstream.Object {
	var o upstream.Object
	if err := json.Unmarshal(r.AppendJSON(nil), &o); err != nil {
		panic("responses: " + err.Error())
	}
	t.own(o)
	return o
}

// storedHeaders returns the headers that are stored until the model has been asked. Without encryption they are only
// those that are known to be no credentials.
func (t *Turn) storedHeaders() http.Header {
	kept, now := http.Header{}, t.settings
	encrypted := t.env.Encrypted
	for name, values := range t.Headers {
		if upstream.PassedOn(name) && (encrypted || harmless(name) || name == http.CanonicalHeaderKey(now.TenantHeader) ||
			name == http.CanonicalHeaderKey(now.ClientHeader)) {
			kept[name] = values
		}
	}
	return kept
}

func harmless(name string) bool {
	switch name {
	case "Traceparent", "Tracestate", "User-Agent", "Accept-Language", "Openai-Organization", "Openai-Project":
		return true
	}
	return strings.HasPrefix(name, "X-Harmony-")
}

// Resume returns the turn of a stored request. An error means that the request cannot be read, and that the turn has
// nothing of it.
func (e *Env) Resume(stored *store.Job, c *input.Caller, readable bool) (*Turn, error) {
	var j job
	var err error
	if readable {
		err = json.Unmarshal(stored.Request, &j)
	}
	t := &Turn{env: e, settings: c.Settings, owner: c.Tenant, Headers: j.Headers, bound: &j.Bound,
		ID: stored.ID, created: time.Unix(j.Created, 0), last: j.Queued,
		stream:    stream{share: c.Share, includes: j.Includes, sealing: j.Sealing, sampling: j.Sampling},
		triggered: j.Triggered, loop: loop{approvals: j.Approvals},
		Request: &input.Request{Fields: j.Fields, Model: j.Model, Previous: j.Previous, Conversation: j.Conversation,
			Stream: j.Stream, Background: true, Store: true, Includes: j.Includes}}
	// The tools were read when the response was accepted. Without those that a new configuration has no more, the model
	// answers as it can.
	if !t.triggered {
		t.hosted, _ = t.settings.Operator.Take(t.Request.Fields, true)
	}
	return t, err
}
