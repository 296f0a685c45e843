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

// TestOverload: quiet clients send as many requests each, the noisy one ten times as many, and the burst comes in its
// time.
func TestOverload(t *testing.T) {
	s := OverloadScale{Load: 1, Burst: 2, Length: 30 * time.Second}
	w, again := Overload(1, s), Overload(1, s)
	counts := map[string]int{}
	for i, c := range w.Conversations {
		counts[c.Client] += len(c.Turns)
		if !bytes.Equal(c.Body("m", len(c.Turns)-1), again.Conversations[i].Body("m", len(c.Turns)-1)) {
			t.Fatal("the same seed makes another workload")
		}
		if c.Group == Burst && (c.Start < s.Length/3 || c.Start > s.Length/2) {
			t.Errorf("the burst has a request at %v", c.Start)
		}
	}
	for client, n := range counts {
		if want := map[string]int{Noisy: 300, Burst: 100}[client]; n != max(want, 30) {
			t.Errorf("%s sends %d requests", client, n)
		}
	}
	if left := w.Without(Noisy, Burst).Requests(); len(counts) != 8 || left != 180 {
		t.Errorf("%d clients, and %d requests of the quiet ones", len(counts), left)
	}
}
