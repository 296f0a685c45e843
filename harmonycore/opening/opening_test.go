package opening

import (
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const (
	events = "text/event-stream"
	lines  = "application/x-ndjson"
	object = "application/json"
)

func sse(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

func completion(choice string) string {
	return `{"id":"a","object":"text_completion","created":1,"model":"m","choices":[{"index":0,` + choice + `}]}`
}

func chunk(choice string) string {
	return `{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,` + choice + `}]}`
}

// TestVerdicts: each kind's answer that fails before its first token is told from one that has begun, wherever the
// network cuts it.
func TestVerdicts(t *testing.T) {
	const role = `"delta":{"role":"assistant","content":""},"finish_reason":null`
	tests := []struct {
		kind, name, contentType, answer string
		want                            Verdict
	}{
		{contract.VLLM, "drains", events,
			sse(completion(`"text":"","token_ids":[],"finish_reason":"abort"`), "[DONE]"), Aborted},
		{contract.VLLM, "drains after a long prompt", events, sse(completion(`"text":"","token_ids":[],"prompt_token_ids":[` +
			strings.Repeat("199999,", 131071) + `1],"finish_reason":"abort"`)), Aborted},
		{contract.VLLM, "is at work", events, "\r\n: still here\n\n", Begun},
		{contract.VLLM, "done", events, sse("[DONE]"), Empty},
		{contract.VLLM, "nothing", events, "", Empty},
		{contract.VLLM, "no token", events,
			sse(completion(`"text":"","token_ids":[],"finish_reason":"stop"`), "[DONE]"), Empty},
		{contract.VLLM, "a token", events, sse(completion(`"text":"","token_ids":[200005],"finish_reason":null`)), Begun},
		{contract.VLLM, "a token and an abort", events,
			sse(completion(`"text":"","token_ids":[200005],"finish_reason":"abort"`)), Begun},
		{contract.VLLM, "an error", events, sse(`{"error":{"message":"no","type":"BadRequestError","code":400}}`), Begun},
		{contract.VLLM, "a page", "text/html", "<html><body>It works!</body></html>\n", Empty},
		{contract.VLLM, "no JSON", events, sse("It works!"), Unreadable},
		{contract.VLLMGenerate, "aborts", events,
			sse(`{"request_id":"a","choices":[{"index":0,"token_ids":[],"finish_reason":"abort"}]}`), Aborted},
		{contract.VLLMGenerate, "a token", events,
			sse(`{"request_id":"a","choices":[{"index":0,"token_ids":[200005],"finish_reason":null}]}`), Begun},
		{contract.SGLang, "aborts", events,
			sse(`{"text":"","output_ids":[],"meta_info":{"id":"a","finish_reason":{"type":"abort","message":"x"}}}`), Aborted},
		{contract.SGLang, "refuses", events, sse(`{"text":"","output_ids":[],"meta_info":{"id":"a","finish_reason":` +
			`{"type":"abort","message":"too long","status_code":400}}}`), Begun},
		{contract.SGLang, "done", events, sse("[DONE]"), Empty},
		{contract.LlamaCPP, "nothing", events, "", Empty},
		{contract.Ollama, "nothing", lines, "", Empty},
		{contract.Ollama, "a text", lines, `{"model":"m","response":"a","done":false}` + "\n", Begun},
		{contract.Ollama, "nothing to say", lines,
			`{"model":"m","response":"","done":true,"done_reason":"stop"}` + "\n", Begun},
		{contract.Text, "nothing to say", events, sse(completion(`"text":"","finish_reason":"stop"`), "[DONE]"), Begun},
		{contract.Text, "aborts", events, sse(completion(`"text":"","finish_reason":"abort"`), "[DONE]"), Aborted},
		{contract.Text, "is filtered", events, sse(completion(`"text":"","finish_reason":"content_filter"`)), Begun},
		{contract.Text, "ends in its own words", events, sse(completion(`"text":"","finish_reason":"eos_token"`)), Begun},
		{contract.Chat, "an event of its own", events, "event: start\n" + sse(`{"session":"a"}`), Begun},
		{contract.Chat, "says what is not read", events,
			sse(chunk(role), chunk(`"delta":{"audio":{"data":"a"}}`), chunk(`"delta":{"audio":{"data":"a"}}`)), Begun},
		{contract.Chat, "filters' results, a role, and an abort", events, sse(`{"choices":[],"prompt_filter_results":[]}`,
			chunk(role), chunk(`"delta":{},"finish_reason":"abort"`)), Aborted},
		{contract.Chat, "only a role", events, sse(chunk(role), "[DONE]"), Empty},
		{contract.Chat, "aborts", events, sse(chunk(role), chunk(`"delta":{},"finish_reason":"abort"`), "[DONE]"), Aborted},
		{contract.Chat, "another end", events,
			sse(chunk(role), chunk(`"delta":{},"finish_reason":"pause"`), "[DONE]"), Begun},
		{contract.Chat, "is filtered", events,
			sse(chunk(role), chunk(`"delta":{},"finish_reason":"content_filter"`), "[DONE]"), Begun},
		{contract.Chat, "nothing to say", events,
			sse(chunk(role), chunk(`"delta":{},"finish_reason":"stop"`), "[DONE]"), Begun},
		{contract.Chat, "a word", events,
			sse(chunk(`"delta":{"role":"assistant","content":"a"},"finish_reason":null`)), Begun},
		{contract.Chat, "reasons", events, sse(chunk(`"delta":{"reasoning_content":"a"},"finish_reason":null`)), Begun},
		{contract.Chat, "calls", events, sse(chunk(`"delta":{"tool_calls":[{"index":0,"id":"c","type":"function",` +
			`"function":{"name":"f","arguments":""}}]},"finish_reason":null`)), Begun},
		{contract.Chat, "whole, aborts", object,
			chunk(`"message":{"role":"assistant","content":""},"finish_reason":"abort"`), Aborted},
		{contract.Chat, "whole", object, chunk(`"message":{"role":"assistant","content":"a"},"finish_reason":"stop"`), Begun},
		{contract.Chat, "whole, nothing", object, "", Empty},
		{contract.Chat, "whole, without a choice", object, `{"object":"chat.completion","choices":[]}`, Begun},
		{contract.Chat, "whole, of its own", object, `{"object":"chat.completion","choices":null}`, Begun},
		{contract.Chat, "whole, in capitals", "Application/JSON; charset=utf-8",
			chunk(`"message":{"role":"assistant","content":"a"},"finish_reason":"stop"`), Begun},
		{contract.Chat, "whole, a colon in a line of its own", object,
			"{\"choices\"\n:[{\"index\":0,\"message\":{\"content\":\"\"},\"finish_reason\":\"abort\"}]}", Aborted},
	}
	for _, tt := range tests {
		for _, cut := range []int{len(tt.answer) + 1, 7, 1} {
			r := New(tt.kind, tt.contentType)
			got := Undecided
			for piece := range slices.Chunk([]byte(tt.answer), cut) {
				if got == Undecided {
					got = r.Write(piece, false)
				}
			}
			if got == Undecided {
				got = r.Write(nil, true)
			}
			if got != tt.want {
				t.Errorf("%s, %s, cut every %d: %d (%s), want %d", tt.kind, tt.name, cut, got, got, tt.want)
			}
		}
	}
}

// TestDecided: a decision stays, and nothing is read after it.
func TestDecided(t *testing.T) {
	r := New(contract.VLLM, events)
	if got := r.Write([]byte("data: [DONE]\n\n"), false); got != Empty {
		t.Fatalf("got %s", got)
	}
	if got := r.Write([]byte(sse(completion(`"token_ids":[1]`))), true); got != Empty || !got.Failed() {
		t.Errorf("got %s", got)
	}
}

// TestLongOpening: a server that sends no token for ever is not held for ever.
func TestLongOpening(t *testing.T) {
	idle := sse(completion(`"text":"","token_ids":[],"finish_reason":null`))
	for _, piece := range []string{"event: idle\n\n", idle, strings.Repeat("x", 1000)} {
		r := New(contract.VLLM, events)
		written := 0
		for r.Write([]byte(piece), false) == Undecided {
			if written += len(piece); written > idLimit {
				t.Fatalf("%q: undecided after %d bytes", piece, written)
			}
		}
		if got := r.Write(nil, true); got != Begun {
			t.Errorf("%q: %s", piece, got)
		}
	}
}

// TestUnknownKind: an answer of a server whose kind is not known is not held.
func TestUnknownKind(t *testing.T) {
	if New("another", events) != nil {
		t.Error("it is held")
	}
}
