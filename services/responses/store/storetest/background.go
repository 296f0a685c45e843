package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// enqueue stores a response that waits to be made.
func (f *fixture) enqueue(id string, past *store.Past) {
	f.t.Helper()
	f.must(f.Enqueue(f.ctx, alice, &store.Record{
		Response: store.Response{ID: id, Status: store.Queued, Background: true, Streamed: true,
			CreatedAt: time.UnixMilli(f.now.Load()), Object: []byte(`{"n":0}`)},
		Input: []store.Item{item("q_"+id, "message", "question")}, Past: past, Retention: time.Hour,
	}, []byte("the request"), 1000))
}

func (f *fixture) claim(owner string) *store.Job {
	f.t.Helper()
	j, err := f.Claim(f.ctx, owner, time.Minute)
	f.must(err)
	return j
}

func outcome(id string) *store.Outcome {
	return &store.Outcome{Status: "completed", Object: []byte(`{"n":2}`), JoinConversation: true,
		Output: []store.Item{item("a_"+id, "message", "answer")}}
}

// wantBacklog compares how many responses wait, and how many are being made.
func (f *fixture) wantBacklog(waiting, running int64) {
	f.t.Helper()
	w, r, err := f.Backlog(f.ctx)
	f.must(err)
	if w != waiting || r != running {
		f.t.Errorf("%d wait and %d run, want %d and %d", w, r, waiting, running)
	}
}

func background(f *fixture) {
	f.wantBacklog(0, 0)
	f.insert(alice, "1", "")
	past, err := f.Chain(f.ctx, alice, "1", store.AtMost(1<<20))
	f.must(err)
	f.enqueue("2", past)
	_, err = f.Chain(f.ctx, alice, "2", store.AtMost(1<<20))
	f.wants(err, store.ErrRunning)
	f.wants(f.Delete(f.ctx, alice, "2"), store.ErrRunning)
	f.wantBacklog(1, 0)
	j := f.claim("one")
	f.wantBacklog(0, 1)
	if j == nil || j.ID != "2" || j.Tenant != alice || string(j.Request) != "the request" || j.Begun {
		f.t.Fatalf("%+v", j)
	}
	if other := f.claim("two"); other != nil {
		f.t.Errorf("claimed twice: %+v", other)
	}
	before, input, err := f.JobItems(f.ctx, j, nil)
	f.must(err)
	f.wantIDs(before, "q_1 r_1 a_1")
	f.wantIDs(input, "q_2")
	f.must(f.Begin(f.ctx, j, []byte(`{"n":1}`)))
	r, _, err := f.Get(f.ctx, alice, "2", nil)
	f.must(err)
	if r.Status != store.InProgress || string(r.Object) != `{"n":1}` {
		f.t.Errorf("%+v %s", r, r.Object)
	}
	f.must(f.Finish(f.ctx, j, outcome("2")))
	f.wants(f.Finish(f.ctx, j, outcome("2")), store.ErrLost)
	f.wantBacklog(0, 0)
	chained, err := f.Chain(f.ctx, alice, "2", store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(chained.Items, "q_1 r_1 a_1 q_2 a_2")
	if f.claim("two") != nil {
		f.t.Error("a response that has ended was claimed")
	}
	// In a conversation: the items join it when the response has completed.
	c := &store.Conversation{ID: "c", Metadata: []byte("{}"), CreatedAt: time.UnixMilli(5)}
	f.must(f.CreateConversation(f.ctx, alice, c, nil))
	for _, tt := range []struct {
		id   string
		join bool
		want string
	}{{"3", false, ""}, {"4", true, "q_4 a_4"}} {
		past, err := f.Lock(f.ctx, alice, "c", tt.id, time.Minute, store.AtMost(1<<20))
		f.must(err)
		f.enqueue(tt.id, past)
		o := outcome(tt.id)
		o.JoinConversation = tt.join
		f.must(f.Finish(f.ctx, f.claim("one"), o))
		past, err = f.Lock(f.ctx, alice, "c", tt.id, time.Minute, store.AtMost(1<<20))
		f.must(err)
		f.wantIDs(past.Items, tt.want)
		f.must(f.Unlock(f.ctx, past, tt.id))
	}
}

func lease(f *fixture) {
	f.enqueue("1", nil)
	one := f.claim("one")
	f.pass(50 * time.Second)
	f.must(f.Renew(f.ctx, one, time.Minute))
	f.pass(50 * time.Second)
	if f.claim("two") != nil {
		f.t.Fatal("a renewed lease has ended")
	}
	f.must(f.Begin(f.ctx, one, []byte("{}")))
	f.pass(11 * time.Second)
	two := f.claim("two")
	if two == nil || !two.Begun {
		f.t.Fatalf("%+v", two)
	}
	for name, err := range map[string]error{
		"renew":  f.Renew(f.ctx, one, time.Minute),
		"begin":  f.Begin(f.ctx, one, []byte("{}")),
		"events": f.AppendEvents(f.ctx, one, store.Events{Body: []byte("x")}, time.Minute),
		"finish": f.Finish(f.ctx, one, outcome("1")),
	} {
		if !errors.Is(err, store.ErrLost) {
			f.t.Errorf("%s without the lease: %v", name, err)
		}
	}
	f.must(f.Release(f.ctx, two, time.Second))
	if f.claim("three") != nil {
		f.t.Error("claimed too early")
	}
	f.pass(2 * time.Second)
	if f.claim("three") == nil {
		f.t.Error("not claimed after its release")
	}
}

// cancelTo returns how a response ends that is cancelled.
func cancelTo(object string) func(*store.Response, int64) ([]byte, []byte, error) {
	return func(_ *store.Response, sequence int64) ([]byte, []byte, error) {
		return []byte(object), fmt.Appendf(nil, "event %d\n\n", sequence), nil
	}
}

func cancel(f *fixture) {
	f.enqueue("1", nil)
	j := f.claim("one")
	f.must(f.AppendEvents(f.ctx, j, store.Events{First: 0, Last: 1, Body: []byte("event 0\n\nevent 1\n\n")}, time.Minute))
	r, err := f.Cancel(f.ctx, alice, "1", nil, cancelTo(`{"cancelled":true}`))
	f.must(err)
	if r.Status != "cancelled" || string(r.Object) != `{"cancelled":true}` {
		f.t.Errorf("%+v", r)
	}
	f.wants(f.Finish(f.ctx, j, outcome("1")), store.ErrLost)
	r, err = f.Cancel(f.ctx, alice, "1", nil, cancelTo("{}"))
	f.wants(err, store.ErrEnded)
	if r.Status != "cancelled" || string(r.Object) != `{"cancelled":true}` {
		f.t.Errorf("%+v", r)
	}
	if text, ended := f.follow("1", -1); text != "event 0|event 1|event 2" || !ended {
		f.t.Errorf("%s, %t", text, ended)
	}
	chained, err := f.Chain(f.ctx, alice, "1", store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(chained.Items, "q_1")
	f.insert(alice, "2", "")
	r, err = f.Cancel(f.ctx, alice, "2", nil, cancelTo("{}"))
	f.wants(err, store.ErrEnded)
	if r.Background || r.Status != "completed" {
		f.t.Errorf("%+v", r)
	}
}

// follow returns the events after a number.
func (f *fixture) follow(id string, after int64) (string, bool) {
	f.t.Helper()
	events, ended, err := f.EventsAfter(f.ctx, alice, id, after, nil)
	f.must(err)
	var b strings.Builder
	for _, e := range events {
		b.Write(e.Body)
	}
	return strings.TrimSuffix(strings.ReplaceAll(b.String(), "\n\n", "|"), "|"), ended
}

func events(f *fixture) {
	f.enqueue("1", nil)
	if text, ended := f.follow("1", -1); text != "" || ended {
		f.t.Errorf("%s, %t", text, ended)
	}
	j := f.claim("one")
	f.must(f.AppendEvents(f.ctx, j, store.Events{First: 0, Last: 1, Body: []byte("e0\n\ne1\n\n")}, time.Minute))
	f.must(f.AppendEvents(f.ctx, j, store.Events{First: 2, Last: 2, Body: []byte("e2\n\n")}, time.Minute))
	o := outcome("1")
	o.Events = store.Events{First: 3, Last: 3, Body: []byte("e3\n\n")}
	f.must(f.Finish(f.ctx, j, o))
	for after, want := range map[int64]string{-1: "e0|e1|e2|e3", 0: "e0|e1|e2|e3", 1: "e2|e3", 2: "e3", 3: "", 9: ""} {
		if text, ended := f.follow("1", after); text != want || !ended {
			f.t.Errorf("after %d: %s, %t", after, text, ended)
		}
	}
	// Events go before their response does.
	f.pass(time.Minute)
	_, err := f.Expire(f.ctx, time.UnixMilli(f.now.Load()))
	f.must(err)
	if text, ended := f.follow("1", -1); text != "" || !ended {
		f.t.Errorf("%s, %t", text, ended)
	}
}

func retention(f *fixture) {
	f.insert(alice, "1", "")
	f.pass(50 * time.Minute)
	f.insert(alice, "2", "1")
	f.insert(alice, "other", "")
	f.pass(20 * time.Minute)
	expire := func(want int64) {
		f.t.Helper()
		if n, err := f.Expire(f.ctx, time.Time{}); n != want || err != nil {
			f.t.Errorf("%d removed, %v, want %d", n, err, want)
		}
	}
	expire(0) // another one continues it
	_, _, err := f.Get(f.ctx, alice, "1", nil)
	f.wants(err, store.ErrNotFound)
	past, err := f.Chain(f.ctx, alice, "2", store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(past.Items, "q_1 r_1 a_1 q_2 r_2 a_2")
	f.pass(time.Hour)
	expire(3)
	f.enqueue("3", nil)
	f.pass(2 * time.Hour)
	expire(0) // it has not ended
}

// reasoning checks that reasoning is removed when an answer follows it.
func reasoning(f *fixture) {
	f.insert(alice, "1", "")
	past, err := f.Chain(f.ctx, alice, "1", store.AtMost(1<<20))
	f.must(err)
	r := turn("2", past)
	r.DropReasoning, r.Output = true, r.Output[1:]
	f.must(f.Insert(f.ctx, alice, r))
	past, err = f.Chain(f.ctx, alice, "2", store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(past.Items, "q_1 a_1 q_2 a_2")
	_, err = f.Chain(f.ctx, alice, "2", store.AtMost(int64(sizeOf(past.Items))))
	f.wants(err, nil) // the size counts what is left
	_, err = f.Chain(f.ctx, alice, "2", store.AtMost(int64(sizeOf(past.Items))-1))
	var large *store.TooLargeError
	if !errors.As(err, &large) {
		f.t.Error(err)
	}
	f.enqueue("3", past)
	o := outcome("3")
	o.DropReasoning = true
	f.must(f.Finish(f.ctx, f.claim("one"), o))
	past, err = f.Chain(f.ctx, alice, "3", store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(past.Items, "q_1 a_1 q_2 a_2 q_3 a_3")
}

// fence checks that a turn joins its conversation only while it has the lock, and behind what came before.
func fence(f *fixture) {
	c := &store.Conversation{ID: "c", Metadata: []byte("{}"), CreatedAt: time.UnixMilli(5)}
	f.must(f.CreateConversation(f.ctx, alice, c, nil))
	slow, err := f.Lock(f.ctx, alice, "c", "slow", time.Second, store.AtMost(1<<20))
	f.must(err)
	f.pass(2 * time.Second)
	quick, err := f.Lock(f.ctx, alice, "c", "quick", time.Minute, store.AtMost(1<<20))
	f.must(err)
	f.wants(f.Insert(f.ctx, alice, turn("slow", slow)), store.ErrLost)
	f.must(f.Insert(f.ctx, alice, turn("quick", quick)))
	_, _, err = f.Get(f.ctx, alice, "slow", nil)
	f.wants(err, store.ErrNotFound)

	// Responses in the background wait for the conversation. Their inputs stand before their own outputs.
	for _, id := range []string{"b1", "b2"} {
		past, err := f.Peek(f.ctx, alice, "c")
		f.must(err)
		f.enqueue(id, past)
	}
	for _, id := range []string{"b1", "b2"} {
		j := f.claim(id)
		_, err := f.Lock(f.ctx, alice, "c", j.ID, time.Minute, store.AtMost(1<<20))
		f.must(err)
		o := outcome(j.ID)
		o.JoinConversation = true
		f.must(f.Finish(f.ctx, j, o))
	}
	list, err := f.ConversationItems(f.ctx, alice, "c", store.Page{Limit: 100, Ascending: true})
	f.must(err)
	f.wantIDs(list.Items, "q_quick r_quick a_quick q_b1 a_b1 q_b2 a_b2")
	inputs, err := f.InputItems(f.ctx, alice, "b2", store.Page{Limit: 10})
	f.must(err)
	f.wantIDs(inputs.Items, "q_b2")

	// Nothing is added while a response is made, which would not know it.
	busy, err := f.Lock(f.ctx, alice, "c", "busy", time.Minute, store.AtMost(1<<20))
	f.must(err)
	f.wants(f.AddItems(f.ctx, alice, "c", []store.Item{item("x", "message", "x")}), store.ErrLocked)
	f.must(f.Unlock(f.ctx, busy, "busy"))
	f.must(f.AddItems(f.ctx, alice, "c", []store.Item{item("x", "message", "x")}))

	// A conversation that was deleted meanwhile keeps nothing.
	late, err := f.Lock(f.ctx, alice, "c", "late", time.Minute, store.AtMost(1<<20))
	f.must(err)
	f.must(f.DeleteConversation(f.ctx, alice, "c"))
	f.wants(f.Insert(f.ctx, alice, turn("late", late)), store.ErrLost)
	_, err = f.Item(f.ctx, alice, "q_late", nil)
	f.wants(err, store.ErrNotFound)
}

// turns checks that tenants take turns, and that one of them cannot fill the queue.
func turns(f *fixture) {
	put := func(t store.Tenant, id string, most int) error {
		return f.Enqueue(f.ctx, t, &store.Record{Response: store.Response{ID: id, Status: store.Queued, Background: true,
			CreatedAt: time.UnixMilli(1), Object: []byte(`{}`)}, Retention: time.Hour}, []byte("the request"), most)
	}
	for i := range 4 {
		f.must(put(alice, fmt.Sprintf("a%d", i), 4))
	}
	f.wants(put(alice, "a4", 4), store.ErrQueueFull)
	f.must(put(bob, "b0", 4))
	f.must(put(bob, "b1", 4))
	var order []string
	for range 2 {
		order = append(order, f.claim("one").ID)
	}
	f.must(put(bob, "b2", 4)) // a tenant that comes again waits for its turn
	for range 5 {
		order = append(order, f.claim("one").ID)
	}
	if got := strings.Join(order, " "); got != "a0 b0 a1 b1 a2 b2 a3" {
		f.t.Errorf("claimed in the order %s", got)
	}
}

// compacted checks that what continues a compacted response gets its output and nothing before, and that lists still
// have everything.
func compacted(f *fixture) {
	f.insert(alice, "1", "")
	past, err := f.Chain(f.ctx, alice, "1", store.AtMost(1<<20))
	f.must(err)
	r := turn("2", past)
	r.Compacted = true
	f.must(f.Insert(f.ctx, alice, r))
	f.insert(alice, "3", "2")
	past, err = f.Chain(f.ctx, alice, "3", store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(past.Items, "r_2 a_2 q_3 r_3 a_3")
	_, err = f.Chain(f.ctx, alice, "3", store.AtMost(int64(sizeOf(past.Items))))
	f.wants(err, nil)
	list, err := f.InputItems(f.ctx, alice, "3", store.Page{Limit: 100, Ascending: true})
	f.must(err)
	f.wantIDs(list.Items, "q_1 r_1 a_1 q_2 r_2 a_2 q_3")
	f.must(f.Delete(f.ctx, alice, "1")) // nothing needs it any more
	f.enqueue("4", past)
	o := outcome("4")
	o.Compacted, o.DropReasoning = true, true
	f.must(f.Finish(f.ctx, f.claim("one"), o))
	past, err = f.Chain(f.ctx, alice, "4", store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(past.Items, ids(o.Output))
	_, err = f.Chain(f.ctx, alice, "4", store.AtMost(int64(sizeOf(past.Items))))
	f.wants(err, nil)

	c := &store.Conversation{ID: "conv", CreatedAt: time.UnixMilli(f.now.Load()), Metadata: []byte("{}")}
	f.must(f.CreateConversation(f.ctx, alice, c, []store.Item{item("old", "message", "hi")}))
	past, err = f.Lock(f.ctx, alice, "conv", "5", time.Minute, store.AtMost(1<<20))
	f.must(err)
	r = turn("5", past)
	r.Compacted = true
	f.must(f.Insert(f.ctx, alice, r))
	_, err = f.DeleteItem(f.ctx, alice, "conv", "old")
	f.must(err)
	past, err = f.Lock(f.ctx, alice, "conv", "me", time.Minute, store.AtMost(int64(sizeOf(r.Output))))
	f.must(err)
	f.wantIDs(past.Items, "r_5 a_5")
	list, err = f.ConversationItems(f.ctx, alice, "conv", store.Page{Limit: 100, Ascending: true})
	f.must(err)
	f.wantIDs(list.Items, "q_5 r_5 a_5")
}

// many checks that concurrent writers and claimers neither lose nor double anything.
func many(f *fixture) {
	const writers, each = 8, 20
	var all sync.WaitGroup
	claimed := make(chan string, 2*writers*each)
	for w := range writers {
		all.Go(func() {
			previous := ""
			for i := range each {
				id := fmt.Sprintf("w%d_%d", w, i)
				f.insert(alice, id, previous)
				previous = id
				f.enqueue("job_"+id, nil)
			}
		})
	}
	all.Wait()
	for range writers {
		all.Go(func() {
			for {
				j, err := f.Claim(f.ctx, "me", time.Hour)
				if err != nil {
					f.t.Error(err)
				}
				if j == nil {
					return
				}
				claimed <- j.ID
				if err := f.Finish(f.ctx, j, outcome(j.ID)); err != nil {
					f.t.Error(err)
				}
			}
		})
	}
	all.Wait()
	close(claimed)
	seen := map[string]bool{}
	for id := range claimed {
		if seen[id] {
			f.t.Errorf("%s was claimed twice", id)
		}
		seen[id] = true
	}
	if len(seen) != writers*each {
		f.t.Errorf("%d of %d were claimed", len(seen), writers*each)
	}
	for w := range writers {
		past, err := f.Chain(f.ctx, alice, fmt.Sprintf("w%d_%d", w, each-1), store.AtMost(1<<20))
		f.must(err)
		if len(past.Items) != 3*each {
			f.t.Errorf("a chain has %d items", len(past.Items))
		}
	}
}
