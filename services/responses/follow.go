package responses

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// The waits between two looks for new events. Streams that are followed are read from the store, so that any replica
// can serve them; a notification of PostgreSQL's would need a connection for each replica that no pooler may share.
const (
	firstPoll = 100 * time.Millisecond
	lastPoll  = 250 * time.Millisecond
)

// followed is a stream of a response in the background that a client follows.
type followed struct {
	store  *store.Store
	tenant store.Tenant
	id     string
	// after is the number of the last event that the client has.
	after int64
	share *quota.Share
	// begun reports whether the stream cannot be refused any more.
	begun bool
}

// readCopies is how many copies there may be of events while they are read: as they come, and as they are opened.
const readCopies = 3

// muchRead is the size of events after which others are read at once: it is a stream of the past.
const muchRead = 256 << 10

// next returns the next events. The memory that they take, [size] of them, is the caller's to give back.
func (f *followed) next(ctx context.Context) (events []store.Events, ended bool, err error) {
	size := int64(0)
	events, ended, err = f.store.EventsAfter(ctx, f.tenant, f.id, f.after, func(bytes int64) error {
		size = bytes
		return f.share.Hold(readCopies * bytes)
	})
	if errors.Is(err, quota.ErrNoMemory) {
		return nil, false, err
	}
	f.share.Drop(readCopies*size - f.size(events))
	return events, ended, err
}

func (f *followed) size(events []store.Events) (bytes int64) {
	for i := range events {
		bytes += int64(len(events[i].Body))
	}
	return bytes
}

// follow answers with the events of a response in the background, until the last.
func (s *Service) follow(w http.ResponseWriter, r *http.Request, f *followed) *openai.Error {
	begin := func() error {
		f.begun = true
		w.Header().Set("content-type", "text/event-stream")
		w.Header().Set("cache-control", "no-cache")
		return http.NewResponseController(w).Flush()
	}
	if f.begun && begin() != nil {
		return nil
	}
	for wait := firstPoll; ; {
		events, ended, err := f.next(r.Context())
		switch {
		case err != nil && !f.begun:
			return s.failure(err, "", refusal.NotFound("Response", f.id))
		case errors.Is(err, quota.ErrNoMemory): // those that have it will be read, or cut
			wait = lastPoll
		case err != nil:
			if r.Context().Err() == nil {
				s.log.Warn("a stream that is followed was cut", "response", f.id, "error", err)
			}
			panic(http.ErrAbortHandler) // the client sees that the stream was cut, and resumes it
		case !f.begun && begin() != nil:
			return nil
		}
		if len(events) > 0 {
			wait = firstPoll
			if f.send(w, events) != nil {
				return nil
			}
		}
		switch {
		case ended:
			return nil
		case f.size(events) > muchRead:
			continue
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-time.After(wait):
			wait = min(2*wait, lastPoll)
		}
	}
}

// send writes events, and gives their memory back.
func (f *followed) send(w http.ResponseWriter, events []store.Events) error {
	for i := range events {
		if err := writePieces(w, eventsAfter(&events[i], f.after)); err != nil {
			return err
		}
		f.after = events[i].Last
	}
	f.share.Drop(f.size(events))
	return http.NewResponseController(w).Flush()
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
