package storetest

import (
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// shownTurn returns a turn as a line of ids.
func shownTurn(turn *store.Turn) string {
	return turn.ID + ": " + ids(turn.Input) + " -> " + ids(turn.Output) + "\n"
}

// wantHistory compares the turns of a response and of what it continues.
func (f *fixture) wantHistory(id, want string) {
	f.t.Helper()
	var b strings.Builder
	f.must(f.Turns(f.ctx, alice, id, func(turn *store.Turn) error {
		b.WriteString(shownTurn(turn))
		return nil
	}))
	if b.String() != want {
		f.t.Errorf("the history of %s is\n%swant\n%s", id, &b, want)
	}
}

// history checks the turns that a person reads: of a chain, of one with expired and deleted responses, and of a
// conversation.
func history(f *fixture) {
	f.insert(alice, "1", "")
	f.pass(30 * time.Minute)
	f.insert(alice, "2", "1")
	f.insert(alice, "3", "2")
	f.insert(bob, "4", "")
	one, err := f.Turn(f.ctx, alice, "2")
	f.must(err)
	if got, want := shownTurn(one), "2: q_2 -> r_2 a_2\n"; got != want {
		f.t.Errorf("one turn: %s, want %s", got, want)
	}
	f.wantHistory("3", "1: q_1 -> r_1 a_1\n2: q_2 -> r_2 a_2\n3: q_3 -> r_3 a_3\n")
	f.pass(45 * time.Minute) // the first has expired
	f.wantHistory("2", "1: q_1 -> r_1 a_1\n2: q_2 -> r_2 a_2\n")
	_, err = f.Turn(f.ctx, alice, "1")
	f.wants(err, store.ErrNotFound)
	f.must(f.Delete(f.ctx, alice, "2"))
	f.wantHistory("3", "3: q_3 -> r_3 a_3\n")
	for _, id := range []string{"1", "2", "4", "5", ""} {
		f.wants(f.Turns(f.ctx, alice, id, func(*store.Turn) error { return nil }), store.ErrNotFound)
	}
	c := &store.Conversation{ID: "c", Metadata: []byte("{}"), CreatedAt: time.UnixMilli(5)}
	f.must(f.CreateConversation(f.ctx, alice, c, []store.Item{item("i1", "message", "hi")}))
	for _, id := range []string{"6", "7"} {
		past, err := f.Lock(f.ctx, alice, "c", id, time.Minute, store.AtMost(1<<20))
		f.must(err)
		f.must(f.Insert(f.ctx, alice, &store.Record{Response: store.Response{ID: id, Status: "completed",
			Object: []byte("{}")}, Input: []store.Item{item("q_"+id, "message", "question")},
			Output: []store.Item{item("a_"+id, "message", "answer")}, Retention: time.Hour, Past: past}))
	}
	f.wantHistory("6", ": i1 -> \n6: q_6 -> a_6\n")
	f.wantHistory("7", ": i1 q_6 a_6 -> \n7: q_7 -> a_7\n")
}
