package page

import (
	"encoding/json"
	"net/http"

	"github.com/harmonyedge/harmonyedge/sight/record"
)

// records serves the requests that are recorded.
type records struct {
	recorder *record.Recorder
	open     chan struct{} // holds a value for each record that is followed
}

// maxFollowed is how many browsers may follow a record at once.
const maxFollowed = 256

func (s *records) register(api *http.ServeMux) {
	api.HandleFunc("GET /api/records", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.recorder.Summaries()) })
	api.HandleFunc("GET /api/records/{id}", s.lines)
	api.HandleFunc("GET /api/records/{id}/live", s.follow)
}

// lines answers with the lines of a record so far.
func (s *records) lines(w http.ResponseWriter, r *http.Request) {
	lines, ok := s.recorder.Lines(r.PathValue("id"))
	if !ok {
		noRecord(w)
		return
	}
	w.Header().Set("content-type", "application/jsonl")
	w.Header().Set("cache-control", "no-store")
	writeAll(w, lines)
}

// follow sends the lines of a record as they come, each as an event.
func (s *records) follow(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if _, ok := s.recorder.Lines(id); !ok {
		noRecord(w)
		return
	}
	select {
	case s.open <- struct{}{}:
		defer func() { <-s.open }()
	default:
		refuse(w, http.StatusServiceUnavailable, "too_many_viewers", "too many records are followed already")
		return
	}
	out := newStream(w)
	if out.send(nil) != nil {
		return
	}
	lines := s.recorder.Follow(r.Context(), id)
	for {
		line, ok := next(r.Context(), out, lines)
		if !ok {
			return
		}
		if out.send([][]byte{event("line", line)}) != nil {
			return
		}
	}
}

func noRecord(w http.ResponseWriter) {
	refuse(w, http.StatusNotFound, "not_found", "this record is not in memory: it was never there, or newer ones took its "+
		"place")
}

// summaryEvent returns the event of a record that begins or ends, or nil for other news.
func summaryEvent(e record.Event) []byte {
	if e.Kind != record.Began && e.Kind != record.Ended {
		return nil
	}
	text, err := json.Marshal(e.Summary)
	if err != nil {
		return nil // cannot happen: it is texts and numbers
	}
	return event("request", text)
}
