package messages

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// TestPings: a response that is in progress again is a sign of life of a quiet stream. A whole message has none.
func TestPings(t *testing.T) {
	r := &Request{Response: &input.Request{Model: "m"}}
	stream := ""
	for _, send := range []func([]byte) error{nil, func(events []byte) error { stream += string(events); return nil }} {
		w := r.NewWriter("resp_1", send)
		for _, kind := range []string{"response.created", "response.in_progress", "response.in_progress",
			"response.in_progress", "response.completed"} {
			if err := w.Take(&upstream.Event{Kind: kind, Data: []byte(`{"response":{}}`)}); err != nil {
				t.Fatal(err)
			}
		}
		if send == nil && !strings.Contains(string(w.Message()), `"id":"msg_1"`) {
			t.Errorf("%s", w.Message())
		}
	}
	if strings.Count(stream, "event: ping\n") != 2 || !strings.HasPrefix(stream, "event: message_start\n") {
		t.Errorf("%s", stream)
	}
}
