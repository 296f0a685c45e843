package backend

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// sglangWriter writes streams of SGLang's: cumulative ones and others, with one choice or two, with all that an event
// may have, and with what a broken server could send.
type sglangWriter struct{ eventWriter }

// events returns the events of a stream.
func (w sglangWriter) events() []string {
	cumulative, choices, logprobs := w.IntN(4) > 0, 1+w.IntN(8)/7, w.IntN(8) == 0
	ids, text, completion := make([][]string, choices), make([]string, choices), make([]int, choices)
	var all []string
	for range 2 + w.IntN(12) {
		choice := w.IntN(choices)
		if !cumulative {
			ids[choice], text[choice] = nil, ""
		}
		for range w.IntN(40) / 13 {
			ids[choice] = append(ids[choice], w.pick("5", "7", "64", "200005", "999999999"))
			completion[choice]++
		}
		text[choice] += w.pick("", "a", `\"`, `\\`, "ü", `\u00fc`, "\ufffd", `","output_ids":[7]`, " a longer text", "]}")
		more := ""
		if logprobs {
			more = `,"output_token_logprobs":[` + strings.TrimSuffix(strings.Repeat("[-0.5,5,null],", len(ids[choice])), ",") +
				"]"
		}
		if w.IntN(12) == 0 {
			more += w.pick(sglangStop, `,"output_ids":[5,7]`, `,"text":"x"`, `,"text":""`, `,"cached_tokens":null`)
		}
		event := sglangEventOf(text[choice], strings.Join(ids[choice], ","), completion[choice], more)
		event = strings.Replace(event, `"reasoning_tokens":0`, fmt.Sprintf(`"reasoning_tokens":%d`, w.IntN(20)), 1)
		if choices > 1 {
			event = choiceOf(choice, event)
		}
		switch w.IntN(30) {
		case 0:
			event = ": " + event[len("data: "):len(event)-1] + event
		case 1:
			event = w.changed(event)
		case 2:
			event = strings.Replace(event, w.pick("5,", "7,", `"a`, "64"), w.pick("", "6,", "5 ,", "5,,", `"b`, "\n", "[5]"), 1)
		}
		all = append(all, event)
	}
	return all
}

// TestRepetitionRandom: events that repeat what came before mean the same in both ways, wherever the network cuts.
func TestRepetitionRandom(t *testing.T) {
	rounds, fitted, all := 20_000, 0, 0
	if testing.Short() {
		rounds = 500
	}
	for seed := range rounds {
		w := sglangWriter{eventWriter{Rand: rand.New(rand.NewPCG(uint64(seed), 2))}}
		events := w.events()
		all += len(events)
		if w.IntN(2) == 0 {
			stream := strings.Join(events, "")
			cut := w.IntN(len(stream))
			events = []string{stream[:cut], stream[cut:]}
		}
		checkTemplate(t, sglang{}, events...)
		r := sglang{}.NewReader()
		s, inner := templated(t, r), templated(t, r).fitted
		s.fitted = func(e *Event) bool { fitted++; return inner(e) }
		streamOfReader(r, events)
	}
	if fitted < all/5 {
		t.Errorf("only %d of %d events fitted a template", fitted, all)
	}
}

// streamOfReader reads the pieces of a stream.
func streamOfReader(r Reader, pieces []string) {
	var e Event
	for _, p := range pieces {
		r.Write([]byte(p))
		for reading := r.Next(&e); reading == Read || reading == Garbled; reading = r.Next(&e) {
		}
	}
}

// cumulativeEvents returns n events, each of which has all that came before and some tokens more.
func cumulativeEvents(n, tokens int) []string {
	var all []string
	for i := range n {
		have := (i + 1) * tokens
		all = append(all, sglangEventOf(strings.Repeat(" a", have), strings.TrimSuffix(strings.Repeat("200005,", have), ","),
			have, ""))
	}
	return all
}

// TestRepetitionKeepsLittle: what is kept of a long answer is bounded, and its events are read all the same.
func TestRepetitionKeepsLittle(t *testing.T) {
	const tokens = 20
	events := cumulativeEvents(maxRepeated/len("200005,")/tokens+10, tokens)
	r := sglang{}.NewReader()
	kept := func() (text, ids []byte) {
		of := templated(t, r).template.repeated
		return of.text, of.ids
	}
	var e Event
	for i, event := range events {
		r.Write([]byte(event))
		if r.Next(&e) != Read || len(e.Tokens) != tokens || r.Next(&e) != Drained {
			t.Fatalf("event %d has %d tokens", i, len(e.Tokens))
		}
		if text, ids := kept(); cap(text) > 2*maxRepeated || cap(ids) > 2*maxRepeated || len(ids) > 7*tokens*(i+1) {
			t.Fatalf("after event %d %d and %d bytes are kept", i, cap(text), cap(ids))
		}
	}
	if text, ids := kept(); text != nil || ids != nil {
		t.Errorf("%d and %d bytes are kept for nothing", cap(text), cap(ids))
	}
}

// TestRepetitionAllocatesLittle: an event takes memory only for its news.
func TestRepetitionAllocatesLittle(t *testing.T) {
	events := cumulativeEvents(2000, 1)
	r := sglang{}.NewReader()
	streamOfReader(r, events[:500])
	pieces := make([][]byte, 0, len(events))
	for _, event := range events[500:] {
		pieces = append(pieces, []byte(event))
	}
	var e Event
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, p := range pieces {
		r.Write(p)
		if r.Next(&e) != Read || len(e.Tokens) != 1 || r.Next(&e) != Drained {
			t.Fatal("not read")
		}
	}
	runtime.ReadMemStats(&after)
	if got, news := after.TotalAlloc-before.TotalAlloc, uint64(1500*len(" a200005,")); got > 8*news {
		t.Errorf("%d bytes of news took %d bytes", news, got)
	}
}
