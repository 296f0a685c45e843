package backend

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestTemplateFits(t *testing.T) {
	for _, tt := range templateShapes {
		r := tt.kind.NewReader()
		var e Event
		r.Write([]byte(framed(tt.kind, tt.first)))
		if r.Next(&e) != Read || r.Next(&e) != Drained {
			t.Fatalf("%s: the first event is not read", tt.name)
		}
		if fits := templated(t, r).template.read([]byte(framed(tt.kind, tt.second)), &e) > 0; fits != tt.fits {
			t.Errorf("%s: the second event fits: %v", tt.name, fits)
		}
	}
}

// TestLike: an event is read where it lies if the template fits it, and only between events. It holds what Next reads.
func TestLike(t *testing.T) {
	for _, tt := range templateShapes {
		r := templated(t, tt.kind.NewReader())
		first, second := framed(tt.kind, tt.first), framed(tt.kind, tt.second)
		before := events(r, first)
		b, e := []byte(second), Event{}
		size, reading := r.Like(b, &e)
		if (size == len(second)) != tt.fits || (size > 0) != tt.fits || string(b) != second {
			t.Errorf("%s: %d of %d bytes are read", tt.name, size, len(second))
		}
		if size > 0 && reading == Read {
			got := fmt.Sprintf("%s%s%d;", before, appendSpelled(nil, &e), Drained)
			if want := events(tt.kind.NewReader(), first, second); got != want {
				t.Errorf("%s: got %s, want %s", tt.name, got, want)
			}
		}
		r.Write([]byte(second[:1]))
		if r.Next(&e) != Drained {
			t.Fatalf("%s: a byte is an event", tt.name)
		}
		if size, _ := r.Like(b, &e); size != 0 {
			t.Errorf("%s: read within an event", tt.name)
		}
	}
}

// templated returns the part of a reader that has the template.
func templated(t *testing.T, r Reader) *eventStream {
	t.Helper()
	s, ok := r.(*eventStream)
	if !ok {
		t.Fatalf("%T has no template", r)
	}
	return s
}

// events spells what a reader reads, event by event.
func events(r Reader, pieces ...string) string {
	var out []byte
	var e Event
	for _, p := range pieces {
		chunk := []byte(p)
		r.Write(chunk)
		reading := r.Next(&e)
		for ; reading == Read || reading == Garbled; reading = r.Next(&e) {
			if reading == Garbled {
				out = append(out, "garbled\n"...)
				continue
			}
			out = appendSpelled(out, &e)
		}
		out = append(strconv.AppendInt(out, int64(reading), 10), ';')
		for i := range chunk {
			chunk[i] = '\n'
		}
	}
	return string(out)
}

// appendSpelled spells an event. Most events have only what comes first: fmt would take most of the tests' time there.
func appendSpelled(out []byte, e *Event) []byte {
	numbers := func(head string, all ...int) {
		out = append(out, head...)
		for _, n := range all {
			out = append(strconv.AppendInt(out, int64(n), 10), ' ')
		}
	}
	ids := func(head string, all []uint32) {
		numbers(head, len(all))
		for _, id := range all {
			numbers("", int(id))
		}
	}
	numbers("", e.Index, int(e.Finish), e.TextTokens)
	for _, is := range []bool{e.Failed, e.HasUsage, e.Done, e.Last} {
		out = strconv.AppendBool(out, is)
	}
	ids(" ids ", e.Tokens)
	ids(" sampled ", e.SampledIDs)
	ids(" prompt ", e.PromptIDs)
	out = strconv.AppendQuote(strconv.AppendQuote(out, string(e.Text)), string(e.Reasoning))
	if e.Usage != (Usage{}) {
		out = fmt.Appendf(out, " %+v", e.Usage)
	}
	for _, l := range e.Logprobs {
		out = fmt.Appendf(out, " %s%v", l.Logprob, l.Top)
	}
	for _, c := range e.Calls {
		out = fmt.Appendf(out, " %d %q %q %q", c.Index, c.ID, c.Name, c.Arguments)
	}
	for _, l := range e.TextLogprobs {
		out = fmt.Appendf(out, " %q%s%q", l.Token, l.Logprob, l.Top)
	}
	if e.Error != nil {
		out = fmt.Appendf(out, " %+v", *e.Error)
	}
	return append(out, '\n')
}

// checkTemplate reads pieces of a stream in both ways.
func checkTemplate(t *testing.T, kind Kind, pieces ...string) {
	t.Helper()
	slow := kind.NewReader()
	templated(t, slow).variables = nil
	want := events(slow, pieces...)
	if got := events(kind.NewReader(), pieces...); got != want {
		t.Fatalf("%q:\ngot  %s\nwant %s", pieces, got, want)
	}
}

// TestTemplateAnyCut: where the network cuts makes no difference.
func TestTemplateAnyCut(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7
	}
	for _, tt := range templateShapes {
		first, second := framed(tt.kind, tt.first), framed(tt.kind, tt.second)
		checkTemplate(t, tt.kind, first, second+first+second+first+": ping\n\ndata: [DONE]\n\n")
		for _, other := range []string{": ping\n\n", "\r\n", "event: x\n", "data:\n", "data: x\r\r", "\n"} {
			checkTemplate(t, tt.kind, first, other, second)
			checkTemplate(t, tt.kind, first, other+second)
		}
		stream := second + first
		for at := 0; at < len(stream); at += step {
			checkTemplate(t, tt.kind, first, stream[:at], stream[at:])
		}
	}
}

// TestTemplateKeepsState: a reader that remembers the last token sees it whichever way it was read.
func TestTemplateKeepsState(t *testing.T) {
	end := strings.Replace(vllmChunk(0, "", ""), `on":null`, `on":"stop"`, 1)
	for _, last := range []string{"8", "200002"} {
		checkTemplate(t, trtllm{}, "data: "+vllmChunk(0, "7", "")+"\n\n", "data: "+vllmChunk(0, last, "")+"\n\n",
			"data: "+end+"\n\n")
	}
}

// TestTemplateAnyByte: neither does what a broken server sends in place of any byte.
func TestTemplateAnyByte(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 29
	}
	for _, tt := range templateShapes {
		first, second := framed(tt.kind, tt.first), framed(tt.kind, tt.second)
		for at := 0; at < len(second); at += step {
			for _, c := range []string{"", `"`, `\`, ",", "[", "]", "{", "}", "0", "9", "-", "e", ".", " ", "\n", "\r", "\x00",
				"\x80", ":", "u"} {
				checkTemplate(t, tt.kind, first, second[:at]+c+second[at+1:], first)
				if c != "" && (at == 0 || second[at-1] != c[0]) { // else it was tried already
					checkTemplate(t, tt.kind, first, second[:at]+c+second[at:], first)
				}
			}
		}
	}
}

// FuzzTemplate compares both ways of reading: a stream of two events, cut anywhere.
func FuzzTemplate(f *testing.F) {
	for _, s := range templateShapes {
		f.Add([]byte(framed(s.kind, s.first)), []byte(framed(s.kind, s.second)), uint8(255))
	}
	f.Fuzz(func(t *testing.T, first, second []byte, size uint8) {
		stream := string(slices.Concat(first, second, first))
		if len(stream) > 1<<13 {
			return
		}
		var pieces []string
		for piece := range slices.Chunk([]byte(stream), int(size)+1) {
			pieces = append(pieces, string(piece))
		}
		for _, kind := range allKinds(t) {
			checkTemplate(t, kind, string(first), string(second), string(first))
			checkTemplate(t, kind, stream)
			checkTemplate(t, kind, pieces...)
		}
	})
}

// TestTemplateAllocatesNothing: neither do 1,000 events that the template fits, whatever is in them.
func TestTemplateAllocatesNothing(t *testing.T) {
	for _, tt := range templateShapes {
		if !tt.fits {
			continue
		}
		r := tt.kind.NewReader()
		var e Event
		drain := func(stream []byte) {
			r.Write(stream)
			for r.Next(&e) != Drained { // a count that another event had is garbled
			}
		}
		if tt.kind == Kind(chat{}) { // a call, of which later events have more
			drain([]byte(framed(tt.kind, chatChunk(`{"tool_calls":[{"index":0,"function":{"name":"f"}}]}`))))
		}
		drain([]byte(framed(tt.kind, tt.first)))
		stream := []byte(strings.Repeat(framed(tt.kind, tt.second), 1000))
		drain(stream)
		var before, after runtime.MemStats
		least := ^uint64(0)
		for range 3 { // others may allocate at the same time
			runtime.ReadMemStats(&before)
			drain(stream)
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		if least != 0 {
			t.Errorf("%s: 1,000 events cost %d allocations", tt.name, least)
		}
	}
}

// TestLargeEventsAreNotKept: what a large event took is given back with the next.
func TestLargeEventsAreNotKept(t *testing.T) {
	many := strings.Repeat("7,", maxKeptTokens) + "7"
	for _, tt := range []struct {
		kind  Kind
		large string
	}{
		{vllm{}, vllmChunk(0, many, "")},
		{text{}, textChunk(strings.Repeat("x", maxKeptText+1))},
		{vllm{}, `{"choices":[{"token_ids":[1],"logprobs":{"token_logprobs":[` + many + `]}}]}`},
		{chat{}, chatChunk(`{"content":"` + strings.Repeat("x", maxKeptText+1) + `"}`)},
		{chat{}, chatChunk(`{"reasoning":"` + strings.Repeat("x", maxKeptText+1) + `"}`)},
		{chat{}, chatChunk(`{"tool_calls":[{"function":{"name":"f","arguments":"` + strings.Repeat("x", maxKeptText+1) +
			`"}}]}`)},
		{chat{}, chatChunk(`{"tool_calls":[` + strings.Repeat(`{"function":{"name":"f"}},`, maxKeptCalls) +
			`{"function":{"name":"f"}}]}`)},
		{chat{}, `{"prompt_token_ids":[` + many + `],"choices":[]}`},
		{chat{}, `{"choices":[{"token_ids":[` + many + `],"delta":{}}]}`},
		{chat{}, `{"choices":[{"delta":{},"logprobs":{"content":[` + strings.Repeat(
			`{"token":"token_id:7","logprob":-1},`, maxKeptLogprobs) + `{"token":"token_id:7","logprob":-1}]}}]}`},
	} {
		r := tt.kind.NewReader()
		var e Event
		for i, data := range []string{tt.large, `{"choices":[{"text":"","token_ids":[1]}]}`} {
			r.Write([]byte("data: " + data + "\n\n"))
			if r.Next(&e) != Read || r.Next(&e) != Drained {
				t.Fatal("not read")
			}
			kept := cap(e.Tokens) <= maxKeptTokens && cap(e.Text) <= maxKeptText && cap(e.Logprobs) <= maxKeptLogprobs &&
				cap(e.Reasoning) <= maxKeptText && cap(e.Calls) <= maxKeptCalls && cap(e.memory) <= maxKeptText &&
				cap(e.TextLogprobs) <= maxKeptLogprobs && cap(e.SampledIDs) <= maxKeptTokens &&
				cap(e.PromptIDs) <= maxKeptTokens && cap(e.namedIDs) <= maxKeptTokens
			if kept != (i > 0) {
				t.Errorf("%.120s: event %d is kept: %t", tt.large, i, kept)
			}
		}
	}
}

// TestTemplateGivesUp: a stream in which no two events are alike makes no template for each of them.
func TestTemplateGivesUp(t *testing.T) {
	r := vllm{}.NewReader().(*eventStream)
	var e Event
	for i := range 100 {
		r.Write(fmt.Appendf(nil, "data: {\"created\":%d,\"choices\":[{\"token_ids\":[7]}]}\n\n", i))
		if r.Next(&e) != Read || r.Next(&e) != Drained {
			t.Fatal("not read")
		}
	}
	if r.template.unused != maxUnused || r.template.count != 0 {
		t.Errorf("%d templates are unused, the last has %d gaps", r.template.unused, r.template.count)
	}
	r = vllm{}.NewReader().(*eventStream)
	r.Write([]byte("data: {\"x\":\"" + strings.Repeat("x", maxTemplate) + "\",\"choices\":[{\"token_ids\":[7]}]}\n\n"))
	if r.Next(&e) != Read || r.template.count != 0 || cap(r.template.frame) > 0 {
		t.Error("a template is made of a large event")
	}
}
