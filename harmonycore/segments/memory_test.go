package segments_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

const (
	serverA = "10.0.0.1:80"
	serverB = "10.0.0.2:80"
)

// asked is a prompt that a server answers.
type asked struct {
	ids                               []uint32
	client, conversation, model, pool string
	server                            string
	// cached is what the server reports, or a negative number if it reports nothing.
	cached int
}

func (a *asked) send(m *segments.Memory) segments.Missed {
	if a.model == "" {
		a.model = "gpt-oss-120b"
	}
	t := m.Begin(o200k.Tokenizer(), segments.Asker{Client: a.client, Conversation: a.conversation}, a.model, a.pool, a.ids,
		segments.BlockSize)
	missed := t.Ended(segments.Outcome{Server: a.server, Counted: true, Reports: a.cached >= 0, Cached: max(a.cached, 0)})
	if again := t.Ended(segments.Outcome{Server: "x", Counted: true, Reports: true}); again != missed {
		panic("a second call changes the result")
	}
	return missed
}

// blocksOf returns the tokens of the whole blocks that two prompts have in common.
func blocksOf(a, b []uint32) int {
	return min(segments.Common(a, b), len(b)-1) / segments.BlockSize * segments.BlockSize
}

// TestMemory sends the next turn of an agent with each change, to a server that has all that is the same.
func TestMemory(t *testing.T) {
	for i, c := range changes {
		t.Run(fmt.Sprintf("%d %s", i, c.reason), func(t *testing.T) {
			before := agent()
			now := agent()
			now.input = append(now.input, reasoning("I know it."), call("c3", `{"path":"c.txt"}`), result("c3", "six"))
			c.change(&now)
			a, b := before.ids(t), now.ids(t)
			for _, reports := range []bool{true, false} {
				first := asked{ids: a, model: before.model, server: serverA, cached: 0}
				next := asked{ids: b, model: now.model, server: serverA, cached: blocksOf(a, b)}
				if !reports {
					first.cached, next.cached = -1, -1
				}
				if reports && c.reason == "model" {
					next.cached = 0
				}
				m := segments.NewMemory(1 << 20)
				if missed := first.send(m); missed.Tokens > 0 && missed.Reason != segments.Unknown {
					t.Errorf("the first prompt missed %+v", missed)
				}
				missed := next.send(m)
				switch {
				case c.reason == "model": // another model has no cache of this one
					if reports && missed.Reason != segments.Unknown || !reports && missed.Tokens != 0 {
						t.Errorf("missed %+v", missed)
					}
				case c.reason == "none":
					if missed.Tokens != 0 {
						t.Errorf("missed %+v", missed)
					}
				case missed.Tokens == 0: // nothing that was there is computed again
					if d := segments.Compare(outline("m", a, noLimits), outline("m", b, noLimits), segments.Common(a, b),
						segments.Cache{Block: segments.BlockSize}); d.Again > segments.Unread {
						t.Errorf("nothing is missed, %+v", d)
					}
				case missed.Reason.String() != c.reason || missed.Tokens > len(b)-blocksOf(a, b):
					t.Errorf("missed %+v of %d, %d in common", missed, len(b), blocksOf(a, b))
				}
			}
		})
	}
}

// TestMemoryOfServers: what servers report decides between a cache that was emptied, another server, and nothing.
func TestMemoryOfServers(t *testing.T) {
	one := agent()
	two := agent()
	two.input = append(two.input, reasoning("I know it."), call("c3", `{"path":"c.txt"}`), result("c3", "six"))
	a, b := one.ids(t), two.ids(t)
	same, common := blocksOf(a, b), segments.Common(a, b)
	elsewhere := turn{model: one.model, date: one.date, effort: one.effort, input: []string{user("Hi")}}
	for name, tt := range map[string]struct {
		first, next asked
		reason      string
		tokens      int
	}{
		"all is there":         {asked{server: serverA}, asked{server: serverA, cached: same}, "", 0},
		"a block lacks":        {asked{server: serverA}, asked{server: serverA, cached: same - 16}, "", 0},
		"more is there":        {asked{server: serverA}, asked{server: serverA, cached: same + 32}, "", 0},
		"evicted":              {asked{server: serverA}, asked{server: serverA, cached: 16}, "evicted", common - 16},
		"another server":       {asked{server: serverA}, asked{server: serverB}, "another_server", common},
		"nothing reported":     {asked{server: serverA, cached: -1}, asked{server: serverB, cached: -1}, "", 0},
		"another pool reports": {asked{server: serverA, pool: "p"}, asked{server: serverB, cached: -1}, "", 0},
		"another client":       {asked{server: serverA}, asked{server: serverA, client: "c"}, "unknown", -1},
		"another conversation": {asked{server: serverA, conversation: "x"},
			asked{server: serverA, conversation: "y"}, "unknown", -1},
		"the first turn": {asked{ids: elsewhere.ids(t), server: serverA}, asked{ids: elsewhere.ids(t), server: serverB,
			client: "c"}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := segments.NewMemory(1 << 20)
			if tt.first.ids == nil {
				tt.first.ids, tt.next.ids = a, b
			}
			tt.first.send(m)
			missed := tt.next.send(m)
			if tt.tokens < 0 { // what the last call's turn has read, and what came before it
				at := strings.Index(describe(outline("m", b, noLimits)), "9 reasoning")
				if at < 0 || missed.Tokens < len(a)-20 || missed.Tokens > len(a) {
					t.Errorf("%d tokens, of %d before", missed.Tokens, len(a))
				}
				tt.tokens = missed.Tokens
			}
			if want := tt.reason; missed.Tokens != tt.tokens || want != "" && missed.Reason.String() != want {
				t.Errorf("missed %+v, want %s, %d", missed, want, tt.tokens)
			}
		})
	}
}

// TestMemoryUnanswered: a prompt that no server has answered is in no cache.
func TestMemoryUnanswered(t *testing.T) {
	a := agent()
	ids := a.ids(t)
	m := segments.NewMemory(1 << 20)
	reporting := turn{model: a.model, date: a.date, effort: "low", input: []string{user("Hi")}}
	(&asked{ids: reporting.ids(t), server: serverA, client: "other"}).send(m)
	before := m.Bytes()
	refused := m.Begin(o200k.Tokenizer(), segments.Asker{}, a.model, "", ids, segments.BlockSize)
	if missed := (&asked{ids: ids, server: serverA}).send(m); missed.Reason == segments.Evicted {
		t.Errorf("a prompt that waits is taken for one that was read: %+v", missed)
	}
	held := m.Bytes()
	refused.Unanswered()
	refused.Unanswered()
	if got := m.Bytes(); got >= held || got <= before {
		t.Errorf("%d bytes, %d with the refused one, %d before", got, held, before)
	}
}

// TestMemoryBounded: the memory keeps to its size, and a client that sends much takes nothing from one that sends
// little.
func TestMemoryBounded(t *testing.T) {
	for _, limit := range []int{64 << 10, 1 << 20} {
		m := segments.NewMemory(limit)
		quiet := agent()
		ids := quiet.ids(t)
		(&asked{ids: ids, client: "quiet", server: serverA}).send(m)
		long := agent()
		for i := range 40 {
			id := fmt.Sprint(i)
			long.input = append(long.input, call(id, `{"path":"a"}`), result(id, strings.Repeat("x y ", 200)))
		}
		noise := long.ids(t)
		for i := range 1000 {
			other := append([]uint32(nil), noise...)
			other[3] = uint32(i)
			(&asked{ids: other, client: "loud", conversation: fmt.Sprint(i), server: serverA}).send(m)
			if m.Bytes() > limit {
				t.Fatalf("%d bytes of %d", m.Bytes(), limit)
			}
		}
		if m.Bytes() < limit/2 && limit < 1<<20 {
			t.Errorf("%d bytes of %d are used", m.Bytes(), limit)
		}
		if missed := (&asked{ids: ids, client: "quiet", server: serverA}).send(m); missed.Reason != segments.Evicted {
			t.Errorf("%d bytes: the quiet client's prompt is not known: %+v", limit, missed)
		}
		m.SetLimit(64 << 10)
		if m.Bytes() > 64<<10 {
			t.Errorf("%d bytes", m.Bytes())
		}
	}
}

// TestMemoryOfLongPrompts: a prompt of many small messages, and one of a few long ones, take a quarter at most.
func TestMemoryOfLongPrompts(t *testing.T) {
	small := make([]uint32, 0, 1<<17)
	for len(small) < 1<<17-8 {
		small = append(small, 200006, 1428, 200008, 12194, 200007)
	}
	long := make([]uint32, 1<<17)
	for i := range long {
		long[i] = uint32(i % 1000)
	}
	for _, limit := range []int{64 << 10, 1 << 20} {
		for _, ids := range [][]uint32{small, long} {
			m := segments.NewMemory(limit)
			(&asked{ids: ids, server: serverA}).send(m)
			if got := m.Bytes(); got == 0 || got > limit/4+1024 {
				t.Errorf("%d bytes of %d", got, limit)
			}
			if missed := (&asked{ids: ids, server: serverB}).send(m); missed.Tokens != len(ids) {
				t.Errorf("missed %+v", missed)
			}
		}
	}
}
