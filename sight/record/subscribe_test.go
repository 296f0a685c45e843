package record

import (
	"fmt"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// TestCloseDelivers checks that subscribers get every event that there is, the ends of the requests that ran included,
// before their channels end.
func TestCloseDelivers(t *testing.T) {
	r := newRecorder(t, Options{})
	events := r.Subscribe(t.Context())
	const requests = 50
	var b batch
	for i := range uint32(requests) {
		b.begin(i, fmt.Sprintf("id-%d", i), vllmHead())
		if i > 0 { // the first one runs when the recorder is closed
			b.add(tap.End, i, 2, tap.EndReport{Status: 200, FirstTokenMS: -1})
		}
	}
	if status := b.post(t, r, "1"); status != 204 {
		t.Fatalf("status %d", status)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	ended, broken := 0, 0
	for e := range events {
		if e.Kind != Ended {
			continue
		}
		ended++
		if e.Summary.Broken != "" {
			broken++
		}
	}
	if ended != requests || broken != 1 {
		t.Errorf("%d requests have ended, %d of them broken off; want %d and 1", ended, broken, requests)
	}
	if _, more := <-r.Subscribe(t.Context()); more {
		t.Error("a closed recorder has news")
	}
}
