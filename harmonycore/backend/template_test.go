package backend

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// templateShapes are pairs of events as servers of a kind send them one after the other. fits reports whether the
// second fits a template of the first.
var templateShapes = []struct {
	name          string
	kind          Kind
	first, second string
	fits          bool
}{
	{"ids", vllm{}, vllmChunk(0, "7", ""), vllmChunk(0, "200005", ""), true},
	{"ids and text", vllm{}, vllmChunk(0, "7", " a"), vllmChunk(0, "12,13", `\"ü\ud83d\ude00\n`), true},
	{"no ids", vllm{}, vllmChunk(0, "7", ""), vllmChunk(0, "", ""), true},
	{"choices", vllm{}, vllmChunk(0, "7", ""), vllmChunk(127, "8", "b"), true},
	{"a prompt's ids", vllm{}, strings.Replace(vllmChunk(0, "7", ""), `"prompt_token_ids":null`,
		`"prompt_token_ids":[1,2,3]`, 1), vllmChunk(0, "7", ""), false},
	{"a late number", vllm{}, `{"choices":[{"token_ids":[1],"index":0}]}`, `{"choices":[{"token_ids":[2],"index":1}]}`,
		true},
	{"no index", vllm{}, `{"choices":[{"token_ids":[1]}]}`, `{"choices":[{"token_ids":[2]}]}`, true},
	{"unknown ids", vllm{}, vllmChunk(0, "7", ""), vllmChunk(0, "4294967296,1e3,-1", ""), false},
	{"a large id", vllm{}, vllmChunk(0, "7", ""), vllmChunk(0, "4294967296", ""), false},
	{"no such index", vllm{}, `{"choices":[{"index":-1,"token_ids":[1]}]}`, `{"choices":[{"index":-1,"token_ids":[2]}]}`,
		true},
	{"usage", vllm{}, `{"choices":[{"token_ids":[1]}],"usage":{"prompt_tokens":3}}`,
		`{"choices":[{"token_ids":[2]}],"usage":{"prompt_tokens":3}}`, false},
	{"text without ids", vllm{}, `{"choices":[{"text":""}]}`, `{"choices":[{"text":"x"}]}`, false},
	{"text and null", vllm{}, `{"choices":[{"text":"","token_ids":null}]}`, `{"choices":[{"text":"x","token_ids":null}]}`,
		false},
	{"an end", vllm{}, vllmChunk(0, "7", ""), strings.Replace(vllmChunk(0, "8", ""), `on":null`, `on":"stop"`, 1), false},
	{"two ends", vllm{}, strings.Replace(vllmChunk(0, "8", ""), `on":null`, `on":"stop"`, 1),
		strings.Replace(vllmChunk(1, "8", ""), `on":null`, `on":"stop"`, 1), false},
	{"logprobs", vllm{}, strings.Replace(vllmChunk(0, "7", ""), `probs":null`, `probs":{"token_logprobs":[-0.5]}`, 1),
		strings.Replace(vllmChunk(0, "8", ""), `probs":null`, `probs":{"token_logprobs":[-0.25]}`, 1), false},
	{"a key twice", vllm{}, `{"choices":[{"token_ids":[1],"token_ids":[2],"index":0,"index":1}]}`,
		`{"choices":[{"token_ids":[3],"token_ids":[4],"index":2,"index":0}]}`, false},
	{"a key again with no such index", vllm{}, `{"choices":[{"index":0,"index":-1,"token_ids":[1]}]}`,
		`{"choices":[{"index":3,"index":-1,"token_ids":[2]}]}`, false},
	{"choices twice", vllm{}, `{"choices":[{"token_ids":[1]}],"choices":[{"token_ids":[2]}]}`,
		`{"choices":[{"token_ids":[3]}],"choices":[{"token_ids":[4]}]}`, false},
	{"choices again with text", vllm{}, `{"choices":[{"token_ids":[1]}],"choices":[{"text":""}]}`,
		`{"choices":[{"token_ids":[2]}],"choices":[{"text":"x"}]}`, false},
	{"choices that are an object", vllm{}, `{"choices":{"token_ids":[1]},"choices":[{"token_ids":[2]}]}`,
		`{"choices":{"token_ids":[3]},"choices":[{"token_ids":[4]}]}`, false},
	{"two lines of data", vllm{}, "{\"choices\":\ndata: [{\"token_ids\":[1]}]}", "{\"choices\":\n[{\"token_ids\":[2]}]}",
		false},
	{"an escaped key", vllm{}, `{"choices":[{"token\u005fids":[1],"token_ids":[2]}]}`,
		`{"choices":[{"token\u005fids":[1],"token_ids":[3]}]}`, false},
	{"keys elsewhere", vllm{}, `{"token_ids":[9],"x":{"token_ids":[8]},"choices":[{"y":[{"index":3}],"token_ids":[1]}]}`,
		`{"token_ids":[9],"x":{"token_ids":[8]},"choices":[{"y":[{"index":3}],"token_ids":[2]}]}`, true},
	{"white space", vllm{}, `{ "choices" : [ { "index" : 0 , "token_ids" : [1] } ] } `,
		`{ "choices" : [ { "index" : 1 , "token_ids" : [2] } ] } `, true},
	{"spaced ids", vllm{}, `{"choices":[{"token_ids":[1, 2]}]}`, `{"choices":[{"token_ids":[1, 3]}]}`, false},
	{"generate", vllmGenerate{}, `{"request_id":"x","choices":[{"index":0,"logprobs":null,"token_ids":[1]}]}`,
		`{"request_id":"x","choices":[{"index":1,"logprobs":null,"token_ids":[2,3]}]}`, true},
	{"trtllm", trtllm{}, vllmChunk(0, "7", ""), vllmChunk(0, "200002", ""), true},
	{"a stop that is not sent", trtllm{}, vllmChunk(0, "7", ""), strings.Replace(vllmChunk(0, "", ""), `on":null`,
		`on":"stop"`, 1), false},
	{"text", text{}, textChunk("a"), textChunk(`b\u00fc \ud83d\ude00 \t ü`), true},
	{"half an escape", text{}, textChunk("a"), textChunk(`\ud83d`), false},
	{"invalid text", text{}, textChunk("a"), textChunk("\xff"), false},
	{"another member", text{}, textChunk("a"), `{"created":2,` + textChunk("b")[1:], false},
	{"a line", ollama{}, ollamaChunk("a", 1), ollamaChunk(`b\u00fc \ud83d\ude00 \t ü`, 2), true},
	{"reasoning", ollama{}, ollamaChunk("a", 1), strings.Replace(ollamaChunk("", 2), `,"done`, `,"thinking":"b","done`, 1),
		false},
	{"the last line", ollama{}, ollamaChunk("a", 1), strings.Replace(ollamaChunk("", 2), "false", "true", 1), false},
	{"two last lines", ollama{}, strings.Replace(ollamaChunk("", 1), "false", "true", 1),
		strings.Replace(ollamaChunk("", 2), "false", "true", 1), false},
}

// framed returns an event of a kind as it comes over the network.
func framed(kind Kind, data string) string {
	if kind.Facts().MediaType != "" {
		return data + "\n"
	}
	return "data: " + data + "\n\n"
}

func ollamaChunk(text string, second int) string {
	return fmt.Sprintf(`{"model":"m","created_at":"2026-08-21T18:48:%02d.5Z","response":"%s","done":false}`, second, text)
}

func vllmChunk(index int, ids, text string) string {
	return fmt.Sprintf(`{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":%d,`+
		`"text":"%s","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":[%s]}]}`,
		index, text, ids)
}

func textChunk(text string) string {
	return `{"id":"x","choices":[{"index":0,"text":"` + text + `","finish_reason":null}],"usage":null}`
}

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

// templated returns the part of a reader that has the template.
func templated(t *testing.T, r Reader) *eventStream {
	t.Helper()
	switch r := r.(type) {
	case *eventStream:
		return r
	case *trtllmReader:
		return &r.eventStream
	default:
		t.Fatalf("%T has no template", r)
		return nil
	}
}

// events spells what a reader reads, event by event.
func events(r Reader, pieces ...string) string {
	var out strings.Builder
	var e Event
	for _, p := range pieces {
		chunk := []byte(p)
		r.Write(chunk)
		reading := r.Next(&e)
		for ; reading == Read || reading == Garbled; reading = r.Next(&e) {
			if reading == Garbled {
				out.WriteString("garbled\n")
				continue
			}
			fmt.Fprintf(&out, "%d %v %q %d %v %v", e.Index, e.Tokens, e.Text, e.Finish, e.HasUsage, e.Done)
			for _, l := range e.Logprobs {
				fmt.Fprintf(&out, " %s%v", l.Logprob, l.Top)
			}
			if e.Error != nil {
				fmt.Fprintf(&out, " %+v", *e.Error)
			}
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "%v;", reading)
		for i := range chunk {
			chunk[i] = '\n'
		}
	}
	return out.String()
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
	for _, tt := range templateShapes {
		first, second := framed(tt.kind, tt.first), framed(tt.kind, tt.second)
		checkTemplate(t, tt.kind, first, second+first+second+first+": ping\n\ndata: [DONE]\n\n")
		for _, other := range []string{": ping\n\n", "\r\n", "event: x\n", "data:\n", "data: x\r\r", "\n"} {
			checkTemplate(t, tt.kind, first, other, second)
			checkTemplate(t, tt.kind, first, other+second)
		}
		stream := second + first
		for at := range len(stream) {
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
		step = 13
	}
	for _, tt := range templateShapes {
		first, second := framed(tt.kind, tt.first), framed(tt.kind, tt.second)
		for at := 0; at < len(second); at += step {
			for _, c := range []string{"", `"`, `\`, ",", "[", "]", "{", "}", "0", "9", "-", "e", ".", " ", "\n", "\r", "\x00",
				"\x80", ":", "u"} {
				checkTemplate(t, tt.kind, first, second[:at]+c+second[at+1:], first)
				checkTemplate(t, tt.kind, first, second[:at]+c+second[at:], first)
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
		for _, kind := range [...]Kind{vllm{}, vllmGenerate{}, trtllm{}, text{}, ollama{}} {
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
		stream := []byte(strings.Repeat(framed(tt.kind, tt.first)+framed(tt.kind, tt.second), 500))
		var e Event
		drain := func() {
			r.Write(stream)
			for r.Next(&e) == Read {
			}
		}
		drain()
		var before, after runtime.MemStats
		least := ^uint64(0)
		for range 3 { // others may allocate at the same time
			runtime.ReadMemStats(&before)
			drain()
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
	} {
		r := tt.kind.NewReader()
		var e Event
		for i, data := range []string{tt.large, `{"choices":[{"text":"","token_ids":[1]}]}`} {
			r.Write([]byte("data: " + data + "\n\n"))
			if r.Next(&e) != Read || r.Next(&e) != Drained {
				t.Fatal("not read")
			}
			kept := cap(e.Tokens) <= maxKeptTokens && cap(e.Text) <= maxKeptText && cap(e.Logprobs) <= maxKeptLogprobs
			if kept != (i > 0) {
				t.Errorf("%.40s: event %d has room for %d, %d, %d", tt.large, i, cap(e.Tokens), cap(e.Text), cap(e.Logprobs))
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
