//go:build llamacpp

package llamacpp

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// ends are the tokens that end an answer. The server shows their text only if a request preserves them.
var ends = []string{"<|return|>", "<|call|>", "<|endoftext|>"}

func isEnd(id uint32) bool {
	return slices.Contains(ends, o200k.Tokenizer().DecodeString([]uint32{id}))
}

// TestScripts asks for every script by ids, whole and streamed, with the ends of answers hidden and preserved.
func TestScripts(t *testing.T) {
	s := start(t, 1, 4096)
	for _, script := range engines.Scripts {
		t.Run(script.Name, func(t *testing.T) {
			said := untilEnd(t, script.IDs)
			prompt, err := engines.Prompt(script.IDs, engines.GenerationPrompt)
			if err != nil {
				t.Fatal(err)
			}
			for _, preserved := range []bool{false, true} {
				more := map[string]any{}
				if preserved {
					more["preserved_tokens"] = ends
				}
				checkStream(t, stream(t, s, ask(prompt, more)), said, preserved)
				more["stream"], more["return_tokens"] = false, true
				checkWhole(t, complete(t, s, ask(prompt, more)), said, preserved)
			}
		})
	}
}

// untilEnd returns the script up to its first token that ends an answer.
func untilEnd(t *testing.T, ids []uint32) []uint32 {
	t.Helper()
	at := slices.IndexFunc(ids, isEnd)
	if at < 0 {
		t.Fatal("the script has no end")
	}
	return ids[:at+1]
}

// checkWhole compares an answer that was not streamed. It has all ids and all text, also of halves of characters.
func checkWhole(t *testing.T, got event, ids []uint32, preserved bool) {
	t.Helper()
	var text []byte
	for _, id := range ids {
		text = append(text, shownText(id, preserved)...)
	}
	want := event{
		Content: replaced(text), Tokens: ids, Stop: true, StopType: "eos",
		TokensPredicted: len(ids), TokensEvaluated: engines.Distance(), Timings: got.Timings,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("whole, preserved %v:\n got %+v\nwant %+v", preserved, got, want)
	}
}

func checkStream(t *testing.T, got []event, ids []uint32, preserved bool) {
	t.Helper()
	want := append(shown(ids, preserved), event{
		Tokens: []uint32{}, Stop: true, StopType: "eos", TokensPredicted: len(ids), TokensEvaluated: engines.Distance(),
		Timings: got[len(got)-1].Timings,
	})
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("streamed, preserved %v, from event %d on:\n got %+v\nwant %+v",
				preserved, i, got[min(i, len(got)):], want[min(i, len(want)):])
			return
		}
	}
}

// shown returns the events that carry the ids. There is one for each id, unless the text so far ends within a character:
// then none comes until the character is whole, and the ids in between come never.
func shown(ids []uint32, preserved bool) []event {
	var events []event
	var text []byte
	sent := 0
	for i, id := range ids {
		text = append(text, shownText(id, preserved)...)
		if endsWithin(text) {
			continue
		}
		events = append(events, event{
			Content: replaced(text[sent:]), Tokens: []uint32{id}, TokensPredicted: i + 1, TokensEvaluated: engines.Distance(),
		})
		sent = len(text)
	}
	return events
}

// shownText returns what the server shows of a token.
func shownText(id uint32, preserved bool) []byte {
	if isEnd(id) && !preserved {
		return nil
	}
	text, _ := o200k.Tokenizer().TokenBytes(id)
	return text
}

// endsWithin reports whether text ends within a character, as the server sees it: by the last four bytes alone.
func endsWithin(text []byte) bool {
	for n := 1; n <= 4 && n <= len(text); n++ {
		switch b := text[len(text)-n]; {
		case b&0xe0 == 0xc0:
			return n < 2
		case b&0xf0 == 0xe0:
			return n < 3
		case b&0xf8 == 0xf0:
			return n < 4
		}
	}
	return false
}

// replaced returns the text with U+FFFD in place of bytes that are no character.
func replaced(text []byte) string { return string(bytes.ToValidUTF8(text, []byte("\ufffd"))) }
