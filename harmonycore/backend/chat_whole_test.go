package backend

import (
	"runtime"
	"strings"
	"testing"
)

// TestWholeAnswers reads whole answers in one piece, cut in two at each place, and in single bytes.
func TestWholeAnswers(t *testing.T) {
	for _, tc := range []streamCase{
		{"vLLM", `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":` +
			`"assistant","content":"Hi","refusal":null,"tool_calls":[],"reasoning":"Hm","reasoning_content":"Hm"},"logprobs":` +
			`{"content":[{"token":"token_id:7","bytes":[72,105],"logprob":-0.5,"top_logprobs":[]}]},"finish_reason":"stop",` +
			`"token_ids":[7,9]}],"usage":{"prompt_tokens":2,"total_tokens":4,"completion_tokens":2},"prompt_token_ids":[1,2]}`,
			`0: (Hm) "Hi" [7 9] "Hi"-0.5 1 prompt [1 2] usage {Prompt:2 Cached:0 Completion:2 HasCached:false} done`},
		{"two calls of one function", `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"x","type":"function",` +
			`"function":{"name":"f","arguments":"{}"}},{"id":"y","type":"function","function":{"name":"f","arguments":"{}"}},` +
			`{"type":"function","function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"tool_calls"}]}` + "\n",
			`0: x=f {} y=f {} =f {"a":1} 1 done`},
		{"three choices", `{"usage":{"prompt_tokens":1},"choices":[{"index":2,"message":{"content":"c"},"finish_reason":` +
			`"length"},{"index":0,"message":{"content":"a"},"finish_reason":"stop"},{"index":1,"message":{"content":` +
			`[{"type":"thinking","thinking":"t"},"b"]},"finish_reason":"content_filter"}]}`,
			`0: "a" 1 1: (t) "b" 4 2: "c" 2 usage {Prompt:1 Cached:0 Completion:0 HasCached:false} done`},
		{"no choice", `{"choices":[]}`, ` done`},
		{"brackets in texts", " \r\n\t" + `{"a":"}]\"}","b\"{":"\\","choices":[{"message":{"content":"]}"}}]}{"choices":[]}`,
			`0: "]}" 0 done`},
		{"an error", `{"error":{"message":"m","code":429}}`, ` error {Status:429 Message:m Type: Code: Param:} done`},
		{"a flat error", `{"object":"error","message":"m","type":"T","code":400}`,
			` error {Status:400 Message:m Type:T Code: Param:} done`},
		{"HTML", `<html>{"choices":[]}</html>`, " broken"},
		{"a list", `[{"choices":[]}]`, " broken"},
		{"a stream", "data: {\"choices\":[]}\n\n", " broken"},
		{"another object", `{"hello":1}`, " broken"},
		{"not JSON", `{"choices":[}]}`, " broken"},
		{"cut", `{"choices":[{"message":{"content":"a"}}]`, ""},
		{"nothing", ``, ""},
	} {
		if got := chatOf(NewWholeReader(), tc.in); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
		for at := range len(tc.in) {
			if got := chatOf(NewWholeReader(), tc.in[:at], tc.in[at:]); got != tc.want {
				t.Fatalf("%s, cut at %d:\ngot  %s\nwant %s", tc.name, at, got, tc.want)
			}
		}
		if got := chatOf(NewWholeReader(), strings.Split(tc.in, "")...); got != tc.want {
			t.Errorf("%s, in single bytes:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// TestWholeAnswersAreBounded: an answer that is too large breaks its reader, which then takes no memory. Neither does
// what follows an answer.
func TestWholeAnswersAreBounded(t *testing.T) {
	chunk := []byte(strings.Repeat("x", 1<<20))
	for begin, want := range map[string]Reading{`{"a":"`: Broken, `{"choices":[]}`: Drained} {
		r := NewWholeReader()
		var e Event
		r.Write([]byte(begin))
		for range 5 {
			r.Write(chunk)
		}
		for r.Next(&e) == Read {
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 20 {
			r.Write(chunk)
			if reading := r.Next(&e); reading != want {
				t.Errorf("%s: %d", begin, reading)
			}
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<20 {
			t.Errorf("%s: %d bytes were taken", begin, after.TotalAlloc-before.TotalAlloc)
		}
	}
}

// FuzzChat: no stream and no whole answer makes a reader panic, no cut changes what it means, and what is read is no
// larger than what was sent.
func FuzzChat(f *testing.F) {
	for _, s := range chatSeeds(f) {
		f.Add([]byte(s), uint8(3))
	}
	f.Add([]byte(`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`), uint8(9))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		if len(stream) > 1<<13 {
			return
		}
		var pieces []string
		for rest := string(stream); rest != ""; {
			n := min(int(size)+1, len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		for _, reader := range []func() Reader{chat{}.NewReader, NewWholeReader} {
			want := chatOf(reader(), string(stream))
			if got := chatOf(reader(), pieces...); got != want {
				t.Fatalf("in pieces of %d:\n%s\nwant\n%s", int(size)+1, got, want)
			}
		}
		checkTemplate(t, chat{}, pieces...)
		checkSize(t, stream)
	})
}

// checkSize checks that the events of a stream are no larger than the stream.
func checkSize(t *testing.T, stream []byte) {
	t.Helper()
	r := chat{}.NewReader()
	r.Write(append([]byte(nil), stream...))
	var e Event
	size := 0
	for reading := r.Next(&e); reading == Read || reading == Garbled; reading = r.Next(&e) {
		if reading == Garbled {
			continue
		}
		size += len(e.Text) + len(e.Reasoning) + len(e.SampledIDs) + len(e.PromptIDs) + len(e.TextLogprobs)
		for _, c := range e.Calls {
			size += len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	if size > len(stream) {
		t.Fatalf("%d bytes became %d", len(stream), size)
	}
}
