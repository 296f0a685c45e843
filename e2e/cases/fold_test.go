//go:build e2e

package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestFold shows what folding forgives, and what it does not.
func TestFold(t *testing.T) {
	const start = "200\ncontent-type: text/event-stream\n\n"
	chunk := func(delta, finish string) string {
		return `data: {"id":"x","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
	}
	done := "data: [DONE]\n\n"
	event := func(kind string, n int, item, delta string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,\"item_id\":%q,\"delta\":%q}\n\n", kind,
			kind, n, item, delta)
	}
	content := func(text string) string { return chunk(`{"content":`+lab.Quote(text)+`}`, "null") }
	thought := chunk(`{"reasoning":"r","reasoning_content":"r"}`, "null")
	stop := chunk(`{}`, `"stop"`)
	call := func(index int, arguments string) string {
		return chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%q}}]}`, index, arguments), "null")
	}
	text := "response.output_text.delta"
	block := func(kind, member, piece string) string {
		return fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"+
			"\"delta\":{\"type\":%q,%q:%q}}\n\n", kind, member, piece)
	}
	probable := func(delta, tokens string) string {
		return strings.Replace(event(text, 1, "m", delta), `"item_id"`, `"logprobs":[`+tokens+`],"item_id"`, 1)
	}
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"pieces", content("ab") + stop + done, content("a") + content("b") + stop + done, true},
		{"pieces of reasoning", thought + thought + content("a"),
			chunk(`{"reasoning":"rr","reasoning_content":"rr"}`, "null") + content("a"), true},
		{"pieces of arguments", call(0, "{}"), call(0, "{") + call(0, "}"), true},
		{"another text", content("ab") + stop, content("aa") + stop, false},
		{"another order", thought + content("a"), content("a") + thought, false},
		{"another call", call(0, "{}"), call(1, "{}"), false},
		{"no end", content("a") + stop, content("a"), false},
		{"no done", content("a") + done, content("a"), false},
		{"one name only", thought, chunk(`{"reasoning":"r"}`, "null"), false},
		{"another id", content("a"), strings.Replace(content("a"), `"x"`, `"y"`, 1), false},
		{"pieces of Responses", event(text, 1, "m", "ab"), event(text, 1, "m", "a") + event(text, 2, "m", "b"), true},
		{"another item", event(text, 1, "m", "a") + event(text, 2, "m", "b"),
			event(text, 1, "m", "a") + event(text, 2, "n", "b"), false},
		{"pieces of Messages", block("text_delta", "text", "ab"),
			block("text_delta", "text", "a") + block("text_delta", "text", "b"), true},
		{"another text of Messages", block("text_delta", "text", "ab"), block("text_delta", "text", "ac"), false},
		{"another delta", block("text_delta", "text", "ab"), block("thinking_delta", "thinking", "ab"), false},
		{"signatures", block("signature_delta", "signature", "ab"),
			block("signature_delta", "signature", "a") + block("signature_delta", "signature", "b"), false},
		{"pieces with logprobs", probable("ab", "1,2"), probable("a", "1") + probable("b", "2"), true},
		{"another logprob", probable("ab", "1,2"), probable("a", "1") + probable("b", "3"), false},
		{"a logprob too few", probable("ab", "1,2"), probable("a", "1") + probable("b", ""), false},
		{"no logprobs", probable("a", ""), event(text, 1, "m", "a"), false},
		{"another kind", event(text, 1, "m", "a"), event("response.reasoning_text.delta", 1, "m", "a"), false},
	} {
		if a, b := Fold(start+c.a), Fold(start+c.b); (a == b) != c.same {
			t.Errorf("%s:\n%s\nand\n%s", c.name, a, b)
		}
	}
}
