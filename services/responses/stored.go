package responses

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// getResponse answers with a stored response, or with its stream.
func (s *Service) getResponse(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	id, query := r.PathValue("id"), r.URL.Query()
	if stream := query.Get("stream"); stream != "" && stream != "false" {
		return s.getStream(w, r, c, st)
	}
	found, output, err := st.Get(r.Context(), c.Tenant, id, c.Share.Take)
	if err != nil {
		return s.failure(err, "", refusal.NotFound("Response", id))
	}
	return writeStored(w, c, whole(found, output, c, includes(query)))
}

// getStream answers with the stream of a stored response.
func (s *Service) getStream(w http.ResponseWriter, r *http.Request, c *input.Caller, st *store.Store) *openai.Error {
	id, query := r.PathValue("id"), r.URL.Query()
	found, err := st.Head(r.Context(), c.Tenant, id)
	if err != nil {
		return s.failure(err, "", refusal.NotFound("Response", id))
	}
	if query.Get("stream") != "true" {
		return refusal.WrongType("stream", "true or false")
	}
	if !found.Background {
		return refusal.Bad(contract.CodeInvalidValue, "stream",
			"This response cannot be streamed because it was not created "+
				"with background=true.")
	}
	if !found.Streamed {
		return refusal.Bad(contract.CodeInvalidValue, "stream",
			"This response cannot be streamed because it was not created "+
				"with stream=true.")
	}
	after := int64(-1)
	if text := query.Get("starting_after"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil {
			return refusal.WrongType("starting_after", "a number")
		}
	}
	return s.follow(w, r, &followed{store: st, id: id, after: after, share: c.Share, tenant: c.Tenant})
}

// whole returns the object of a stored response with its output.
func whole(r *store.Response, output []store.Item, c *input.Caller, include []string) []byte {
	var o upstream.Object
	if json.Unmarshal(r.Object, &o) != nil {
		return r.Object
	}
	bound := c.Bound(o.Text("model"))
	shown := make([]json.RawMessage, 0, len(output))
	for i := range output {
		shown = append(shown, c.Settings.Sealer.ForClient(&output[i], bound, include))
	}
	o["output"] = items.JSON(shown)
	return items.JSON(o)
}

func (s *Service) deleteResponse(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	id := r.PathValue("id")
	err := st.Delete(r.Context(), c.Tenant, id)
	if errors.Is(err, store.ErrRunning) {
		return refusal.Bad(contract.CodeInvalidValue, "", "Cannot delete an in-flight response.")
	}
	if err != nil {
		return s.failure(err, "", refusal.NotFound("Response", id))
	}
	return writeJSON(w, items.JSON(deleted{id, "response", true}))
}

// deleted is the answer to a DELETE.
type deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

func (s *Service) listInputItems(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	id, query := r.PathValue("id"), r.URL.Query()
	p, failure := page(query, c)
	if failure != nil {
		return failure
	}
	found, err := st.Object(r.Context(), c.Tenant, id, c.Share.Take)
	if err != nil {
		return s.failure(err, "", refusal.NotFound("Response", id))
	}
	list, err := st.InputItems(r.Context(), c.Tenant, id, p)
	if err != nil {
		return s.failure(err, "", refusal.NotFound("Response", id))
	}
	var o upstream.Object
	_ = json.Unmarshal(found.Object, &o)
	return s.writeList(w, c, list, c.Bound(o.Text("model")), includes(query))
}

// cancelResponse ends a response that is made in the background.
func (s *Service) cancelResponse(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	id := r.PathValue("id")
	found, err := st.Cancel(r.Context(), c.Tenant, id, c.Share.Take, cancelled)
	switch {
	case err == nil:
		s.metrics.Finished(items.Cancelled)
	case !errors.Is(err, store.ErrEnded):
		return s.failure(err, "", refusal.NotFound("Response", id))
	case !found.Background:
		return refusal.Bad(contract.CodeInvalidValue, "", "Cannot cancel a synchronous response.")
	case found.Status != items.Cancelled:
		return refusal.Bad(contract.CodeInvalidValue, "", "Cannot cancel a "+found.Status+" response.")
	}
	return writeJSON(w, whole(found, nil, c, nil))
}

// cancelled returns the object of a response that is cancelled, and the last event of its stream.
func cancelled(r *store.Response, sequence int64) (body, frame []byte, err error) {
	var o upstream.Object
	if err := json.Unmarshal(r.Object, &o); err != nil {
		return nil, nil, &store.CorruptError{Record: "response " + r.ID, Err: err}
	}
	o["status"] = items.JSON(items.Cancelled)
	body = items.JSON(o)
	o["output"] = json.RawMessage("[]")
	last := upstream.Event{Kind: "response.failed", Data: upstream.Lifecycle("response.failed", sequence, items.JSON(o))}
	return body, last.Frame(), nil
}
