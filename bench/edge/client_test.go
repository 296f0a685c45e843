package main

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestReaderAtEveryCut checks that the same events are counted wherever the network cuts a stream.
func TestReaderAtEveryCut(t *testing.T) {
	const stream = "event: x\ndata: {\"content\":\" word\"}\n\ndata: {\"content\":\"\"}\n\n" +
		"data: {\"content\":\" wo\"}\n\ndata: [DONE]\n\n"
	for _, tt := range []struct {
		api        api
		want, text int
	}{{chat, 2, 8}, {responses, 0, 0}, {raw, 4, 0}} {
		for cut := range len(stream) {
			begun := 0
			r := &reader{separator: []byte("\n\n"), key: tt.api.textKey(), received: new(atomic.Int64),
				begun: func() { begun++ }}
			r.take([]byte(stream[:cut]), 1)
			r.take([]byte(stream[cut:]), 2)
			if len(r.arrivals) != tt.want || int(r.received.Load()) != tt.want || begun != min(1, tt.want) ||
				r.text != tt.text || len(r.data) != 0 ||
				!slices.IsSorted(r.arrivals) {
				t.Fatalf("cut at %d: %v, %d begun, %q left", cut, r.arrivals, begun, r.data)
			}
		}
	}
}

// TestMatch checks which piece of the server's a client's event belongs to, with and without the filter.
func TestMatch(t *testing.T) {
	a := &answer{first: 2, pieces: [][]byte{{1}, {2}, {3}, {4}, {5}}}
	sent := []time.Duration{10, 20, 30, 40, 50}
	o := order{ask: ask{words: 2}}
	words := &reader{key: chat.textKey(), arrivals: []time.Duration{33, 44}}
	pieces := &reader{arrivals: []time.Duration{11, 22, 33, 44, 55}}
	for _, r := range []*reader{words, pieces} {
		delays, arrivals := r.match(o, a, sent)
		if !slices.Equal(delays, []time.Duration{3, 4}) || !slices.Equal(arrivals, []time.Duration{33, 44}) {
			t.Errorf("delays %v, arrivals %v", delays, arrivals)
		}
	}
	joined, held := &reader{arrivals: []time.Duration{11, 22, 44}}, &reader{key: chat.textKey(), arrivals: sent[:3]}
	early := &reader{key: chat.textKey(), arrivals: []time.Duration{22, 33}}
	for _, r := range []*reader{joined, held, early} {
		if delays, _ := r.match(o, a, sent); delays != nil {
			t.Errorf("the events are not the pieces, and still the delays are %v", delays)
		}
	}
}

// TestRecord checks what is one piece of an answer, and which has the first word, as an id or as text.
func TestRecord(t *testing.T) {
	id := strings.Split(filler(1), " ")[1] // any other word
	for _, first := range []string{`{"token_ids":[2195]}`, `{"text":" word"}`, `{"output_ids":[1,2195]}`} {
		a := &answer{}
		for _, piece := range []string{`{"token_ids":[200005]}`, `{"text":" ` + id + `"}`, first, first} {
			for _, half := range []string{piece[:5], piece[5:]} {
				if _, err := a.Write([]byte(half)); err != nil {
					t.Fatal(err)
				}
			}
			a.Flush()
			a.Flush()
		}
		a.finish()
		if len(a.pieces) != 4 || a.first != 2 {
			t.Errorf("%s: %q, the first word in %d", first, a.pieces, a.first)
		}
	}
}
