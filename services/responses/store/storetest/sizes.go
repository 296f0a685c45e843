package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// errLimit is the error of a limit that allows nothing.
var errLimit = errors.New("too much")

// sizes checks that each reader's limit gets the size of what is read, before it is.
func sizes(f *fixture) {
	f.insert(alice, "1", "")
	f.insert(alice, "2", "1")
	c := &store.Conversation{ID: "c", Metadata: []byte("{}"), CreatedAt: time.UnixMilli(1)}
	f.must(f.CreateConversation(f.ctx, alice, c, []store.Item{item("i1", "message", "hi"), item("i2", "message", "ho")}))
	f.enqueue("job", nil)
	j := f.claim("one")
	part := strings.Repeat("x", 300_000) + "\n\n"
	f.must(f.AppendEvents(f.ctx, j, store.Events{First: 0, Last: 9, Body: []byte(strings.Repeat(part, 10))}, time.Minute))
	one := turn("1", nil)
	q1, output := int64(len(one.Input[0].Body)), int64(sizeOf(one.Output))
	for name, tt := range map[string]struct {
		read func(limit store.Limit) error
		want int64 // at least, and with seals little more
	}{
		"get": {func(l store.Limit) error { _, _, err := f.Get(f.ctx, alice, "2", l); return err },
			int64(len(one.Object)) + output},
		"object":      {func(l store.Limit) error { _, err := f.Object(f.ctx, alice, "2", l); return err }, int64(len(one.Object))},
		"item":        {func(l store.Limit) error { _, err := f.Item(f.ctx, alice, "q_1", l); return err }, q1},
		"job":         {func(l store.Limit) error { _, _, err := f.JobItems(f.ctx, j, l); return err }, q1},
		"input items": {func(l store.Limit) error { return page(f.InputItems(f.ctx, alice, "2", all(l))) }, 2*q1 + output},
		"items of a conversation": {func(l store.Limit) error { return page(f.ConversationItems(f.ctx, alice, "c", all(l))) },
			int64(len(item("i1", "message", "hi").Body) + len(item("i2", "message", "ho").Body))},
		"item of a conversation": {func(l store.Limit) error {
			_, err := f.ConversationItem(f.ctx, alice, "c", "i1", l)
			return err
		}, int64(len(item("i1", "message", "hi").Body))},
		"events": {func(l store.Limit) error { _, _, err := f.EventsAfter(f.ctx, alice, "job", -1, l); return err },
			3 * int64(len(part))},
		"cancel": {func(l store.Limit) error { _, err := f.Cancel(f.ctx, alice, "job", l, cancelTo("{}")); return err }, 7},
	} {
		f.wants(tt.read(func(int64) error { return errLimit }), errLimit)
		if name == "cancel" {
			continue // it can be done once
		}
		got := int64(0)
		f.must(tt.read(func(size int64) error { got += size; return nil }))
		if got < tt.want || got > tt.want+200 {
			f.t.Errorf("%s: the limit gets %d bytes, want %d", name, got, tt.want)
		}
	}
	// Events are stored in batches of a size, whatever comes at once, and read one of those at a time.
	text, next := "", int64(-1)
	for ended := false; !ended; {
		events, _, err := f.EventsAfter(f.ctx, alice, "job", next, nil)
		f.must(err)
		if ended = len(events) == 0; ended {
			break
		}
		if events[0].First != next+1 || len(events) > 1 || len(events[0].Body) > 1<<20 {
			f.t.Errorf("%d batches after %d: %d to %d", len(events), next, events[0].First, events[0].Last)
		}
		text, next = text+string(events[0].Body), events[0].Last
	}
	if text != strings.Repeat(part, 10) || next != 9 {
		f.t.Errorf("%d bytes of events up to %d", len(text), next)
	}
	list, err := f.ConversationItems(f.ctx, alice, "c", store.Page{Limit: 10, MaxBytes: 1, Ascending: true})
	f.must(err)
	if f.wantIDs(list.Items, "i1"); !list.More {
		f.t.Error("no others follow a page that is full")
	}
}

func all(allow store.Limit) store.Page { return store.Page{Limit: 10, Allow: allow} }

func page(_ *store.List, err error) error { return err }
