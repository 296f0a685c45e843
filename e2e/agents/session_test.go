package agents

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/completion"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func newTranslator() *completion.Translator {
	m := completion.GPTOSS("m")
	m.Date, m.ContextLength = "2026-11-28", 1<<20
	return completion.New(completion.Options{Tokenizer: o200k.Tokenizer(), Model: m})
}

// TestSize compares sessions with the figures of a median session of Codex.
func TestSize(t *testing.T) {
	translator := newTranslator()
	for _, s := range []*Session{New(Tuning, 1), New(Tuning, 2), New(HoldOut, 1)} {
		b := s.Bodies(Responses, "m")
		for _, want := range []struct{ turn, items, bytes, ids int }{
			{1, 4, 24_000, 5_300}, {43, 173, 488_000, 138_000},
		} {
			body := b.Turn(want.turn)
			ids, err := translator.ResponsesPrompt([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("turn %d: %d items, %d bytes, %d ids", want.turn, b.ends[want.turn-1], len(body), len(ids))
			if b.ends[want.turn-1] != want.items || !near(len(body), want.bytes) || !near(len(ids), want.ids) {
				t.Errorf("turn %d has %d items, %d bytes, %d ids; want about %d, %d, %d", want.turn, b.ends[want.turn-1],
					len(body), len(ids), want.items, want.bytes, want.ids)
			}
		}
	}
}

func near(got, want int) bool { return got > want*94/100 && got < want*106/100 }

// TestForms compares the prompts of all turns in the forms of Responses and Chat, and holds Messages against both.
func TestForms(t *testing.T) {
	s, translator := New(Tuning, 1), newTranslator()
	asked, chat, messages := s.Bodies(Responses, "m"), s.Bodies(Chat, "m"), s.Bodies(Messages, "m")
	for turn := 1; turn <= Turns; turn += 6 {
		want, err := translator.ResponsesPrompt([]byte(asked.Turn(turn)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := translator.ChatPrompt([]byte(chat.Turn(turn)))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("turn %d: %d ids by Chat, %d by Responses", turn, len(got), len(want))
		}
		var sent struct{ Messages []struct{ Role string } }
		if err := json.Unmarshal([]byte(messages.Turn(turn)), &sent); err != nil {
			t.Fatal(err)
		}
		for i, m := range sent.Messages {
			if i > 0 && m.Role == "assistant" && sent.Messages[i-1].Role == m.Role {
				t.Errorf("turn %d: message %d has the role of the message before it", turn, i)
			}
		}
	}
}

// TestSame makes a session twice, and others beside it.
func TestSame(t *testing.T) {
	last := func(f Family, seed uint64) string { return New(f, seed).Bodies(Chat, "m").Turn(Turns) }
	first := last(Tuning, 1)
	if first != last(Tuning, 1) {
		t.Error("the same seed makes another session")
	}
	other := last(Tuning, 2)
	head := 12_000
	if first[:head] != other[:head] || first == other {
		t.Error("sessions of an agent must begin alike, and differ")
	}
	if held := last(HoldOut, 1); held[:head] == first[:head] {
		t.Error("two agents have the same instructions")
	}
	if i := strings.Index(first, "/work/"); i >= 0 {
		t.Errorf("a path: %.80q", first[i:])
	}
}

// TestTurnsExtend compares each turn with the turn before it.
func TestTurnsExtend(t *testing.T) {
	for _, form := range Forms {
		b := New(Tuning, 3).Bodies(form, "m")
		if len(b.ends) != Turns {
			t.Fatalf("%v: %d turns", form, len(b.ends))
		}
		for turn := 2; turn <= Turns; turn++ {
			before, now := b.Turn(turn-1), b.Turn(turn)
			if !strings.HasPrefix(now, strings.TrimSuffix(before, b.tail)+",") || !json.Valid([]byte(now)) {
				t.Fatalf("%v: turn %d does not extend the turn before", form, turn)
			}
		}
	}
}
