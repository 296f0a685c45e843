package agents

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/completion"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
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

// TestSessionMemory prints how much memory a whole session takes: 8 MiB are for a dozen.
func TestSessionMemory(t *testing.T) {
	const sessions, most = 5, 0.7 * (1 << 20)
	memory := prefixmemory.New(8<<20, &[prefixmemory.KeySize]byte{1})
	g := newGateway(memory)
	var after []int
	for seed := range uint64(sessions) {
		bodies, tokens := New(HoldOut, seed).Bodies(Responses, "m"), 0
		for turn := 1; turn <= Turns; turn++ {
			r := sentTo(t, g, Responses, bodies.Turn(turn))
			if turn > 1 && r.Recall != exchange.RecallHit {
				t.Fatalf("session %d, turn %d: %q", seed, turn, r.Recall)
			}
			tokens = r.RecalledTokens
		}
		after = append(after, memory.Bytes())
		t.Logf("%d sessions, the last of %d tokens: %d bytes", seed+1, tokens, after[seed])
	}
	if each := float64(after[sessions-1]-after[0]) / (sessions - 1); each > most {
		t.Errorf("a session takes %.0f bytes, of %.0f", each, most)
	}
}

// TestRecalledForms: every turn of a session is recalled but the first, and the one that brings another effort, in each
// form that the gateway reads.
func TestRecalledForms(t *testing.T) {
	for _, form := range []Form{Responses, Found, Lite, Chat} {
		memory := prefixmemory.New(8<<20, &[prefixmemory.KeySize]byte{1})
		g, bodies := newGateway(memory), New(HoldOut, 1).Bodies(form, "m")
		for turn := 1; turn <= Turns; turn++ {
			want := exchange.RecallHit
			if turn == 1 || form == Lite && turn == updateAt {
				want = exchange.RecallMiss
			}
			if r := sentTo(t, g, form, bodies.Turn(turn)); r.Recall != want {
				t.Errorf("%s, turn %d: %q, want %q", form, turn, r.Recall, want)
			}
		}
		t.Logf("%s: %d bytes", form, memory.Bytes())
	}
}

// newGateway returns a gateway with a memory.
func newGateway(memory *prefixmemory.Memory) *exchange.Gateway {
	c := contract.Config{BodyLimit: 1 << 20, StallTimeoutMS: 1000, ReasoningRatioAlert: 0.9}
	c.Models = []contract.Model{{Name: "m", Pool: "p", PoolName: "p", Server: contract.VLLM, ServerModel: "m"}}
	c.Models[0].ContextLength, c.Models[0].System = 1<<18, contract.System{Date: contract.DateUTC}
	return exchange.New(exchange.Options{Config: c, Tokenizer: o200k.Tokenizer(), Prefixes: memory})
}

// sentTo sends a request to a gateway, which must forward it.
func sentTo(t *testing.T, g *exchange.Gateway, form Form, body string) exchange.Report {
	t.Helper()
	x := g.Begin("POST", form.Path())
	a := x.Request([]byte(body), exchange.Host{Now: 1_796_000_000_000, ID: strings.Repeat("a", 32)})
	if a.Forward == nil {
		t.Fatalf("%s: %+v", form, a.Reply)
	}
	return x.Report()
}
