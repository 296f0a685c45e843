package responses

import (
	"bytes"
	"net/http"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/responses/store"
)

// The waits between two looks for new events. Streams that are followed are read from the store, so that any replica
// can serve them; a notification of PostgreSQL's would need a connection for each replica that no pooler may share.
const (
	firstPoll = 100 * time.Millisecond
	lastPoll  = 250 * time.Millisecond
)

// follow answers with the events of a response in the background whose numbers are larger than after, until the last.
func (s *Service) follow(w http.ResponseWriter, r *http.Request, st *store.Store, c *caller, id string,
	after int64) *openai.Error {
	w.Header().Set("content-type", "text/event-stream")
	w.Header().Set("cache-control", "no-cache")
	flush := http.NewResponseController(w)
	if err := flush.Flush(); err != nil {
		return nil
	}
	for wait := firstPoll; ; {
		batches, ended, err := st.EventsAfter(r.Context(), c.tenant, id, after)
		if err != nil {
			if r.Context().Err() == nil {
				s.Log.Warn("a stream that is followed was cut", "response", id, "error", err)
			}
			panic(http.ErrAbortHandler) // the client sees that the stream was cut, and resumes it
		}
		for i := range batches {
			if _, err := w.Write(eventsAfter(&batches[i], after)); err != nil {
				return nil
			}
			after = batches[i].Last
		}
		if len(batches) > 0 {
			wait = firstPoll
			if err := flush.Flush(); err != nil {
				return nil
			}
		}
		if ended {
			return nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-time.After(wait):
			wait = min(2*wait, lastPoll)
		}
	}
}

// eventsAfter returns the events of a batch whose numbers are larger than after.
func eventsAfter(e *store.Events, after int64) []byte {
	body := e.Body
	for skip := after - e.First + 1; skip > 0; skip-- {
		end := bytes.Index(body, []byte("\n\n"))
		if end < 0 {
			return nil
		}
		body = body[end+2:]
	}
	return body
}
