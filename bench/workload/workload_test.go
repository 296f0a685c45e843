package workload

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

// TestSameSeed makes all workloads twice, and with another seed.
func TestSameSeed(t *testing.T) {
	s := Scale{Servers: 8, Length: 10 * time.Second}
	bodies := func(seed uint64) (all []byte) {
		for _, w := range All(seed, s) {
			if w.Requests() == 0 {
				t.Errorf("%s has no request", w.Name)
			}
			for _, c := range w.Conversations {
				if c.Start < 0 || c.Start > s.Length {
					t.Errorf("%s begins at %v", c.ID, c.Start)
				}
				all = append(all, c.Body("m", len(c.Turns)-1)...)
			}
		}
		return all
	}
	first := bodies(1)
	if !bytes.Equal(first, bodies(1)) {
		t.Error("the same seed makes other workloads")
	}
	if bytes.Equal(first, bodies(2)) {
		t.Error("another seed makes the same workloads")
	}
}

// TestTurns compares the messages of each turn with the messages of the turn before it.
func TestTurns(t *testing.T) {
	translator := NewTranslator("m")
	for _, w := range All(1, Scale{Servers: 1, Length: 10 * time.Second}) {
		for _, c := range w.Conversations[:min(3, len(w.Conversations))] {
			var before []json.RawMessage
			for turn := range c.Turns {
				var body struct {
					Messages []json.RawMessage `json:"messages"`
				}
				if err := json.Unmarshal(c.Body("m", turn), &body); err != nil {
					t.Fatal(err)
				}
				if len(body.Messages) != 2+2*turn {
					t.Fatalf("%s, turn %d: %d messages", c.ID, turn, len(body.Messages))
				}
				for i, m := range before {
					if !bytes.Equal(m, body.Messages[i]) {
						t.Fatalf("%s, turn %d: message %d is another", c.ID, turn, i)
					}
				}
				before = body.Messages
				if _, err := translator.ChatPrompt(c.Body("m", turn)); err != nil {
					t.Fatalf("%s, turn %d: %v", c.ID, turn, err)
				}
			}
		}
	}
}
