//go:build !tinygo

// The garbage of these tests would make TinyGo's heap too large for the tests that follow.

package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestTextMaxMessages: an answer may have maxMessages and not one more, also if one event has all of them.
func TestTextMaxMessages(t *testing.T) {
	const aside = "<|channel|>analysis<|message|>x<|end|><|start|>assistant"
	last := textChunk(0, "<|channel|>final<|message|>Done", "stop") + serverDone
	for _, inEvent := range []int{1, 100, maxMessages} {
		for _, tt := range []struct {
			messages int
			within   bool
		}{{maxMessages - 1, true}, {maxMessages, false}} {
			var stream strings.Builder
			for left := tt.messages; left > 0; left -= inEvent {
				stream.WriteString(textChunk(0, strings.Repeat(aside, min(left, inEvent)), ""))
			}
			got := outcome(t, forwarded(t, textGateway(func(m *contract.Model) { m.ContextLength = 131072 }),
				"/v1/responses", `{"model":"gpt-oss-120b","input":"Hi"}`), []string{stream.String(), last, ""})
			if strings.Contains(got, "Done") != tt.within ||
				strings.Contains(got, "more than 1024 messages in one answer") == tt.within {
				t.Errorf("%d messages, %d in an event: got … %s", tt.messages+1, inEvent, tail(got))
			}
		}
	}
}

// TestManyBrokenSpellings: a message of nothing but spellings takes a time in proportion to its length.
func TestManyBrokenSpellings(t *testing.T) {
	g := textGateway(func(m *contract.Model) {
		m.ControlTokens, m.ContextLength = contract.ControlTokensBreak, contract.MaxContextLength
	})
	const n = 90_000
	x := forwarded(t, g, "/v1/responses", `{"model":"`+testModel+`","input":"`+strings.Repeat("<|end|>", n)+`"}`)
	if got := x.Report().BrokenSpellings; got != n {
		t.Errorf("%d spellings were broken, want %d", got, n)
	}
}
