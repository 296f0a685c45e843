package responses

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// TestFailure has every error of the store, and what a client and the log get of it.
func TestFailure(t *testing.T) {
	corrupt := &store.CorruptError{Record: "item msg_1", Err: errors.New("changed")}
	for _, tt := range []struct {
		err    error
		want   openai.Error
		logged string
	}{
		{store.ErrNotFound, *refusal.PreviousNotFound("resp_1"), ""},
		{store.ErrNoAfter, openai.Error{Status: 400, Code: "invalid_value", Param: "after"}, ""},
		{store.ErrGap, openai.Error{Status: 400, Code: "previous_response_not_found", Param: "p"}, ""},
		{store.ErrRunning, openai.Error{Status: 400, Code: "invalid_value", Param: "p"}, ""},
		{store.ErrLocked, openai.Error{Status: 400, Code: "conversation_locked", Param: "conversation"}, ""},
		{&store.TooLargeError{Bytes: 5}, openai.Error{Status: 400, Code: "context_length_exceeded", Param: "p"}, ""},
		{corrupt, openai.Error{Status: 500, Code: "stored_data_unreadable"}, "item msg_1"},
		{errors.New("no route to 10.0.0.5"), openai.Error{Status: 503, Code: "store_unavailable"}, "10.0.0.5"},
	} {
		var log bytes.Buffer
		s := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		got := s.failure(fmt.Errorf("while asked: %w", tt.err), "p", refusal.PreviousNotFound("resp_1"))
		if got == nil || got.Status != tt.want.Status || got.Code != tt.want.Code || got.Param != tt.want.Param ||
			got.Message == "" || (got.Type == "server_error") != (got.Status >= 500) {
			t.Errorf("%v: %+v", tt.err, got)
			continue
		}
		if (log.Len() > 0) != (tt.logged != "") || !strings.Contains(log.String(), tt.logged) {
			t.Errorf("%v is logged as %q", tt.err, log.String())
		}
		if tt.logged != "" && strings.Contains(got.Message, tt.logged) {
			t.Errorf("the client gets %q", got.Message)
		}
	}
	if failure := New(Options{}).failure(nil, "", nil); failure != nil {
		t.Error(failure)
	}
}

func TestWriteError(t *testing.T) {
	for e, retry := range map[openai.Error]string{
		{Status: 400}: "", {Status: 404}: "", {Status: 500}: "", {Status: 503}: "1",
		{Status: 503, RetryAfter: "9"}: "9", {Status: 429, RetryAfter: "20"}: "20",
	} {
		w := httptest.NewRecorder()
		e.Type, e.Message = "t", "m"
		writeError(w, &e)
		if w.Code != e.Status || w.Header().Get("retry-after") != retry ||
			w.Header().Get("content-type") != "application/json" {
			t.Errorf("%d: %d %v", e.Status, w.Code, w.Header())
		}
		if got := w.Body.String(); got != `{"error":{"message":"m","type":"t","param":null,"code":null}}` {
			t.Errorf("got %s", got)
		}
	}
}

// TestQuote: a client's value is not repeated whole.
func TestQuote(t *testing.T) {
	if got := refusal.Quote(strings.Repeat("x", 1000)); len(got) > refusal.MaxQuoted+10 {
		t.Errorf("%d bytes", len(got))
	}
}
