package backend

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestTextRequest(t *testing.T) {
	r := &Request{
		Model: `open"ai/x`, Prompt: []uint32{200006, 17360, 200008}, PromptText: []byte("<|start|>system<|message|>\"é\n"),
		MaxTokens: 4096, Choices: 2, StopTokens: []uint32{200002, 200012},
		Sampling: Sampling{
			Temperature: "0.70", TopP: "0", Seed: "7", LogitBias: []Bias{{Token: 5, Value: "-1"}},
			Extras: []Member{{Name: "top_k", JSON: "3"}},
		},
		StructuralTag: []byte(`{}`),
	}
	const want = `{"model":"open\"ai/x","prompt":"<|start|>system<|message|>\"é\n","max_tokens":4096,"n":2,` +
		`"stop":["<|return|>","<|call|>"],"temperature":0.70,"top_p":1e-6,"seed":7,"logit_bias":{"5":-1},"top_k":3,` +
		`"stream":true,"stream_options":{"include_usage":true}}`
	if got := string(text{}.AppendRequest([]byte("x"), r)); got != "x"+want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if k, ok := Named("text"); !ok || !k.Facts().TextPrompts || !k.Facts().TextAnswers {
		t.Error("the kind text has no text")
	}
}

func TestTextEvent(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     Event
		garbled  bool
	}{
		{"text", `{"choices":[{"index":1,"text":"a\"\n\u00e9\ud83d\ude00","logprobs":null,"finish_reason":null}]}`,
			Event{Index: 1, Text: []byte("a\"\né😀")}, false},
		{"stop", `{"choices":[{"text":"","finish_reason":"stop"}]}`, Event{Finish: Stopped}, false},
		{"stop without text", `{"choices":[{"finish_reason":"stop"}]}`, Event{Finish: Stopped}, false},
		{"length", `{"choices":[{"text":"x","finish_reason":"length"}]}`, Event{Text: []byte("x"), Finish: Length}, false},
		{"filtered", `{"choices":[{"text":"","finish_reason":"content_filter"}]}`, Event{Finish: Filtered}, false},
		{"no reason yet", `{"choices":[{"text":"x","finish_reason":""}]}`, Event{Text: []byte("x")}, false},
		{"usage beside text", `{"choices":[{"text":"x"}],"usage":{"prompt_tokens":8,"completion_tokens":4}}`,
			Event{Text: []byte("x"), HasUsage: true, Usage: Usage{Prompt: 8, Completion: 4}}, false},
		{"done", `[DONE]`, Event{Done: true}, false},
		{"error", `{"error":{"message":"m","code":429}}`, Event{Error: &Error{Status: 429, Message: "m"}}, false},
		{"chat", `{"choices":[{"delta":{"content":"x"}}]}`,
			Event{Error: &Error{Status: 502, Message: "the inference server sent a choice without text"}}, false},
		{"two choices", `{"choices":[{"text":"a"},{"text":"b"}]}`, Event{Text: []byte("a"), Error: &Error{Status: 502,
			Message: "the inference server sent several choices in one event, which it never should"}}, false},
		{"text of another type", `{"choices":[{"text":["a"],"finish_reason":"stop"}]}`, Event{Finish: Stopped,
			Error: &Error{Status: 502, Message: "the inference server sent a choice without text"}}, false},
		{"null", `{"choices":[{"text":null,"finish_reason":null}]}`, Event{}, false},
		{"null beside the end", `{"choices":[{"text":null,"finish_reason":"stop"}]}`, Event{Finish: Stopped}, false},
		{"half a surrogate", `{"choices":[{"text":"\ud83d"}]}`, Event{}, true},
		{"garbage", `{"choices":`, Event{}, true},
		{"HTML", `<html>`, Event{}, true},
		{"other", `{"hello":1}`, Event{}, true},
		{"array", `[1]`, Event{}, true},
	} {
		var e Event
		if ok := readText([]byte(tt.in), &e); ok == tt.garbled {
			t.Errorf("%s: understood = %v", tt.name, ok)
		} else if ok && !sameEvent(&e, &tt.want) {
			t.Errorf("%s: got %+v, want %+v", tt.name, e, tt.want)
		}
	}
}

// sameEvent compares events; nil and empty text are the same.
func sameEvent(a, b *Event) bool {
	x, y := *a, *b
	x.Text, y.Text, x.Tokens, y.Tokens, x.Logprobs, y.Logprobs = nil, nil, nil, nil, nil, nil
	return bytes.Equal(a.Text, b.Text) && reflect.DeepEqual(x, y)
}

// allText reads a stream that comes in pieces, and returns what was read, in words.
func allText(stream string, size int) string {
	r := text{}.NewReader()
	var e Event
	out := ""
	for stream != "" {
		n := min(size, len(stream))
		r.Write([]byte(stream[:n]))
		stream = stream[n:]
		for reading := r.Next(&e); reading != Drained; reading = r.Next(&e) {
			if reading == Broken {
				return out + " broken"
			}
			if reading == Garbled {
				out += " garbled"
				continue
			}
			out += fmt.Sprintf(" %d%q%d%v", e.Index, e.Text, e.Finish, e.Done)
		}
	}
	return out
}

// TestTextReader reads a stream cut anywhere, with comments and white space between the events.
func TestTextReader(t *testing.T) {
	stream := ": ping\n\ndata: {\"choices\":[{\"index\":0,\"text\":\"é \"}]}\n\n" +
		"data:{\"choices\":[{\"index\":1,\"text\":\"\\u00e9\",\"finish_reason\":\"stop\"}]}\r\n\r\ndata: {{{\n\n" +
		"event: x\ndata: [DONE]\n\n"
	want := allText(stream, len(stream))
	if want != ` 0"é "0false 1"é"1false garbled 0""0true` {
		t.Fatalf("got %s", want)
	}
	for size := 1; size < len(stream); size++ {
		if got := allText(stream, size); got != want {
			t.Fatalf("in pieces of %d: got %s, want %s", size, got, want)
		}
	}
	if got := allText("data: {\"choices\":[{\"text\":\""+strings.Repeat("x", 5<<20)+"\"}]}\n\n",
		64<<10); got != " broken" {
		t.Errorf("an event of 5 MiB: got %.80s", got)
	}
}

func TestTextCause(t *testing.T) {
	for code, want := range map[string]Cause{"context_length_exceeded": ContextExceeded, "": OtherCause, "x": OtherCause} {
		if got := (text{}).Cause(&Error{Status: 400, Code: code}); got != want {
			t.Errorf("%q: got %d, want %d", code, got, want)
		}
	}
}

// FuzzTextReader: no stream makes the reader panic, none gives more text than it has bytes, and no cut changes it.
func FuzzTextReader(f *testing.F) {
	f.Add("data: {\"choices\":[{\"index\":1,\"text\":\"\\ud83d\\ude00\",\"finish_reason\":\"stop\"}]}\n\n", uint8(3))
	f.Add("data: {\"choices\":[],\"usage\":{\"completion_tokens\":4}}\n\ndata: [DONE]\n\n", uint8(1))
	f.Fuzz(func(t *testing.T, stream string, size uint8) {
		whole := allText(stream, max(len(stream), 1))
		if got := allText(stream, int(size)+1); got != whole {
			t.Fatalf("in pieces of %d: got %s, want %s", int(size)+1, got, whole)
		}
		var e Event
		if readText([]byte(stream), &e); len(e.Text) > len(stream) {
			t.Fatalf("%d bytes of text in %d", len(e.Text), len(stream))
		}
	})
}
