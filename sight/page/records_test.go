package page

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sight/record"
)

const tapKey = "0123456789abcdef"

// send hands frames to a recorder as the filter does.
func send(t *testing.T, recorder http.Handler, frames ...tap.Frame) {
	t.Helper()
	var body []byte
	for _, f := range frames {
		f.Stream, f.At = 1, 1_700_000_000_000_000
		body = tap.Append(body, f)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tap.Path, bytes.NewReader(body))
	r.Header.Set(tap.KeyHeader, tapKey)
	r.Header.Set(tap.VMHeader, "1")
	w := httptest.NewRecorder()
	recorder.ServeHTTP(w, r)
	if w.Code/100 != 2 {
		t.Fatalf("the recorder answers %d %s", w.Code, w.Body)
	}
}

// TestRecords: a request is in the list, its lines come as they are recorded, and viewers learn of it.
func TestRecords(t *testing.T) {
	recorder, err := record.New(record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	frames := recorder.Handler(tapKey)
	s := source()
	s.Records = recorder
	server := serve(t, s)
	if _, body := ask(t, server, http.MethodGet, "/api/about"); !strings.Contains(body, `"records":true`) {
		t.Errorf("about: %s", body)
	}
	if _, body := ask(t, server, http.MethodGet, "/api/records"); body != `[]` {
		t.Errorf("without a request: %s", body)
	}
	viewer := open(t, server, "/api/live")
	viewer.next(t, "status")
	send(t, frames, tap.Frame{Kind: tap.Request,
		Payload: []byte(`{"method":"POST","path":"/v1/chat/completions","request_id":"id-1"}`)})
	if got := viewer.next(t, "request"); !strings.HasPrefix(got, `{"id":"id-1",`) || !strings.Contains(got, `"running":true`) {
		t.Errorf("the request is %s", got)
	}
	if _, body := ask(t, server, http.MethodGet, "/api/records"); !strings.HasPrefix(body, `[{"id":"id-1",`) {
		t.Errorf("the list is %s", body)
	}
	for text := ""; !strings.HasPrefix(text, `[{"id":"id-1",`); {
		text = viewer.next(t, "running")
	}
	follower := open(t, server, "/api/records/id-1/live")
	send(t, frames, tap.Frame{Kind: tap.Body, Payload: []byte(`{"model":"m"}`)}, tap.Frame{Kind: tap.End,
		Payload: []byte(`{"status":200}`)})
	if got := follower.next(t, "line"); !strings.HasPrefix(got, `{"type":"request",`) || !strings.Contains(got, `"model":"m"`) {
		t.Errorf("the first line is %s", got)
	}
	if got := follower.next(t, "line"); !strings.HasPrefix(got, `{"type":"end",`) {
		t.Errorf("the last line is %s", got)
	}
	for follower.lines.Scan() {
		if text := follower.lines.Text(); text != "" {
			t.Errorf("after the end: %q", text)
		}
	}
	if got := viewer.next(t, "request"); !strings.Contains(got, `"running":false`) {
		t.Errorf("the request is %s", got)
	}
	if status, body := ask(t, server, http.MethodGet, "/api/records/id-1"); status != http.StatusOK ||
		strings.Count(body, "\n") != 2 {
		t.Errorf("the lines are %d %s", status, body)
	}
	for _, path := range []string{"/api/records/id-2", "/api/records/id-2/live", "/api/records/id-1/other"} {
		if status, body := ask(t, server, http.MethodGet, path); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	if _, body := ask(t, server, http.MethodGet, "/api/status"); body != `{"version":"v1"}` {
		t.Errorf("after the recorder's end: %s", body)
	}
}
