package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// Keys are two keys, the first of which seals.
const (
	KeyA = "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	KeyB = "b:Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="
)

var alice, bob = store.TenantOf("alice"), store.TenantOf("bob")

// fixture is a store with a clock that a test sets.
type fixture struct {
	*store.Store
	t       *testing.T
	ctx     context.Context
	options store.Options
	now     *atomic.Int64 // Unix milliseconds
}

// Run runs all tests. fresh returns the options of an empty database.
func Run(t *testing.T, fresh func(t *testing.T) store.Options) {
	for name, test := range map[string]func(*fixture){
		"chain": chain, "long chain": longChain, "gap": gap, "tenants": tenants, "paging": paging,
		"conversation": conversation, "lock": lock, "background": background, "lease": lease, "cancel": cancel,
		"events": events, "retention": retention, "reasoning": reasoning, "keys": keys, "corrupt": corrupt,
		"migrations": migrations, "compacted": compacted, "turns": turns, "fence": fence, "many": many,
		"delete and export": deleteAndExport, "sizes": sizes, "history": history, "approvals": approvals,
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{t: t, ctx: t.Context(), options: fresh(t), now: &atomic.Int64{}}
			f.now.Store(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC).UnixMilli())
			f.options.Now = func() time.Time { return time.UnixMilli(f.now.Load()) }
			f.open(KeyA)
			t.Cleanup(func() { f.Close() })
			test(f)
		})
	}
}

func (f *fixture) open(keyText string) {
	f.t.Helper()
	f.options.Keys = parse(f.t, keyText)
	s, err := store.Open(f.ctx, f.options)
	if err != nil {
		f.t.Fatal(err)
	}
	f.Store = s
}

// reopen opens the store again with other keys, and returns the error.
func (f *fixture) reopen(keyText string) error {
	f.t.Helper()
	f.Close()
	f.options.Keys = parse(f.t, keyText)
	s, err := store.Open(f.ctx, f.options)
	if err == nil {
		f.Store = s
	}
	return err
}

func parse(t *testing.T, keyText string) *seal.Keys {
	t.Helper()
	k, err := seal.ParseKeys(keyText)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (f *fixture) pass(d time.Duration) { f.now.Add(d.Milliseconds()) }

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) wants(err, want error) {
	f.t.Helper()
	if !errors.Is(err, want) {
		f.t.Errorf("%v, want %v", err, want)
	}
}

func item(id, kind, text string) store.Item {
	return store.Item{ID: id, Type: kind, Body: fmt.Appendf(nil, `{"id":%q,"text":%q}`, id, text)}
}

// turn returns a response with a question and an answer.
func turn(id string, past *store.Past) *store.Record {
	return &store.Record{
		Response: store.Response{ID: id, Status: "completed", Object: []byte(`{"id":"` + id + `"}`),
			CreatedAt: time.UnixMilli(1)},
		Input:  []store.Item{item("q_"+id, "message", "question "+id)},
		Output: []store.Item{item("r_"+id, "reasoning", "thought "+id), item("a_"+id, "message", "answer "+id)},
		Past:   past, Retention: time.Hour,
	}
}

func (f *fixture) insert(t store.Tenant, id, previous string) {
	f.t.Helper()
	past := &store.Past{}
	if previous != "" {
		var err error
		past, err = f.Chain(f.ctx, t, previous, store.AtMost(1<<20))
		f.must(err)
	}
	f.must(f.Insert(f.ctx, t, turn(id, past)))
}

func ids(items []store.Item) string {
	var list []string
	for i := range items {
		list = append(list, items[i].ID)
	}
	return strings.Join(list, " ")
}

func (f *fixture) wantIDs(items []store.Item, want string) {
	f.t.Helper()
	if got := ids(items); got != want {
		f.t.Errorf("%s, want %s", got, want)
	}
	for i := range items {
		if !strings.Contains(string(items[i].Body), `"id":"`+items[i].ID+`"`) {
			f.t.Errorf("the body of %s is %s", items[i].ID, items[i].Body)
		}
	}
}

func chain(f *fixture) {
	f.insert(alice, "1", "")
	f.insert(alice, "2", "1")
	f.insert(alice, "3", "2")
	f.insert(alice, "2b", "1") // a fork
	for id, want := range map[string]string{
		"3":  "q_1 r_1 a_1 q_2 r_2 a_2 q_3 r_3 a_3",
		"2b": "q_1 r_1 a_1 q_2b r_2b a_2b",
	} {
		past, err := f.Chain(f.ctx, alice, id, store.AtMost(1<<20))
		f.must(err)
		f.wantIDs(past.Items, want)
	}
	r, output, err := f.Get(f.ctx, alice, "2", nil)
	f.must(err)
	f.wantIDs(output, "r_2 a_2")
	if string(r.Object) != `{"id":"2"}` || r.Status != "completed" || r.CreatedAt.UnixMilli() != 1 {
		f.t.Errorf("%+v, %s", r, r.Object)
	}
	_, err = f.Chain(f.ctx, alice, "3", store.AtMost(100))
	var large *store.TooLargeError
	if !errors.As(err, &large) || large.Bytes < 200 {
		f.t.Errorf("a chain beyond the limit: %v", err)
	}
	if found, err := f.Item(f.ctx, alice, "a_2", nil); err != nil || found.ID != "a_2" {
		f.t.Errorf("%+v, %v", found, err)
	}
	_, err = f.Item(f.ctx, alice, "nothing", nil)
	f.wants(err, store.ErrNotFound)
	f.wants(f.Insert(f.ctx, bob, turn("3", nil)), nil) // another tenant may have the same id
	if f.Insert(f.ctx, alice, turn("3", nil)) == nil {
		f.t.Error("two responses have one id")
	}
}

// longChain checks that a long chain is read whole, in its order.
func longChain(f *fixture) {
	const turns = 300
	f.insert(alice, "t0", "")
	for i := 1; i < turns; i++ {
		f.insert(alice, fmt.Sprintf("t%d", i), fmt.Sprintf("t%d", i-1))
	}
	past, err := f.Chain(f.ctx, alice, fmt.Sprintf("t%d", turns-1), store.AtMost(1<<20))
	f.must(err)
	if past.Turns != turns || len(past.Items) != 3*turns {
		f.t.Fatalf("%d items, %d turns", len(past.Items), past.Turns)
	}
	for i := range turns {
		if want := fmt.Sprintf("q_t%d r_t%[1]d a_t%[1]d", i); ids(past.Items[3*i:3*i+3]) != want {
			f.t.Fatalf("turn %d: %s", i, ids(past.Items[3*i:3*i+3]))
		}
	}
}

// gap checks that a chain with a deleted response is not continued as if nothing were missing.
func gap(f *fixture) {
	f.insert(alice, "1", "")
	f.insert(alice, "2", "1")
	f.insert(alice, "3", "2")
	f.must(f.Delete(f.ctx, alice, "2"))
	_, err := f.Chain(f.ctx, alice, "3", store.AtMost(1<<20))
	f.wants(err, store.ErrGap)
	_, err = f.Chain(f.ctx, alice, "2", store.AtMost(1<<20))
	f.wants(err, store.ErrNotFound)
	_, err = f.Chain(f.ctx, alice, "1", store.AtMost(1<<20))
	f.wants(err, nil)
	_, _, err = f.Get(f.ctx, alice, "3", nil)
	f.wants(err, nil)
	f.wants(f.Delete(f.ctx, alice, "2"), store.ErrNotFound)
}

// tenants checks that another tenant's id is what an unknown one is, in every method.
func tenants(f *fixture) {
	f.insert(alice, "1", "")
	c := &store.Conversation{ID: "c", Metadata: []byte("{}"), CreatedAt: time.UnixMilli(1)}
	f.must(f.CreateConversation(f.ctx, alice, c, []store.Item{item("i", "message", "hi")}))
	f.must(f.Enqueue(f.ctx, alice, &store.Record{Response: store.Response{ID: "b", Status: store.Queued, Background: true,
		Streamed: true, Object: []byte("{}")}, Retention: time.Hour}, []byte("{}"), 1000))
	page := store.Page{Limit: 10}
	for name, call := range map[string]func(store.Tenant) error{
		"get":         func(t store.Tenant) error { _, _, err := f.Get(f.ctx, t, "1", nil); return err },
		"chain":       func(t store.Tenant) error { _, err := f.Chain(f.ctx, t, "1", store.AtMost(1<<20)); return err },
		"input items": func(t store.Tenant) error { _, err := f.InputItems(f.ctx, t, "1", page); return err },
		"item":        func(t store.Tenant) error { _, err := f.Item(f.ctx, t, "a_1", nil); return err },
		"events":      func(t store.Tenant) error { _, _, err := f.EventsAfter(f.ctx, t, "b", -1, nil); return err },
		"conversation": func(t store.Tenant) error {
			_, err := f.GetConversation(f.ctx, t, "c")
			return err
		},
		"items":               func(t store.Tenant) error { _, err := f.ConversationItems(f.ctx, t, "c", page); return err },
		"one item":            func(t store.Tenant) error { _, err := f.ConversationItem(f.ctx, t, "c", "i", nil); return err },
		"metadata":            func(t store.Tenant) error { _, err := f.SetMetadata(f.ctx, t, "c", []byte("{}")); return err },
		"add":                 func(t store.Tenant) error { return f.AddItems(f.ctx, t, "c", nil) },
		"lock":                func(t store.Tenant) error { _, err := f.Lock(f.ctx, t, "c", "me", 1, store.AtMost(1<<20)); return err },
		"cancel":              func(t store.Tenant) error { _, err := f.Cancel(f.ctx, t, "b", nil, cancelTo("{}")); return err },
		"delete item":         func(t store.Tenant) error { _, err := f.DeleteItem(f.ctx, t, "c", "i"); return err },
		"delete":              func(t store.Tenant) error { return f.Delete(f.ctx, t, "1") },
		"delete conversation": func(t store.Tenant) error { return f.DeleteConversation(f.ctx, t, "c") },
	} {
		if err := call(bob); !errors.Is(err, store.ErrNotFound) {
			f.t.Errorf("%s of another tenant: %v", name, err)
		}
	}
	past, err := f.Chain(f.ctx, alice, "1", store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(past.Items, "q_1 r_1 a_1")
}

func paging(f *fixture) {
	f.insert(alice, "1", "")
	f.insert(alice, "2", "1")
	list := func(after string, limit int, ascending bool) *store.List {
		l, err := f.InputItems(f.ctx, alice, "2", store.Page{After: after, Limit: limit, Ascending: ascending})
		f.must(err)
		return l
	}
	for _, tt := range []struct {
		after     string
		limit     int
		ascending bool
		want      string
		more      bool
	}{
		{"", 10, true, "q_1 r_1 a_1 q_2", false},
		{"", 2, true, "q_1 r_1", true},
		{"r_1", 2, true, "a_1 q_2", false},
		{"", 10, false, "q_2 a_1 r_1 q_1", false},
		{"a_1", 1, false, "r_1", true},
		{"q_1", 1, false, "", false},
	} {
		l := list(tt.after, tt.limit, tt.ascending)
		f.wantIDs(l.Items, tt.want)
		if l.More != tt.more {
			f.t.Errorf("%+v: more is %t", tt, l.More)
		}
	}
	_, err := f.InputItems(f.ctx, alice, "2", store.Page{After: "a_2", Limit: 1})
	f.wants(err, store.ErrNoAfter)
}

func conversation(f *fixture) {
	c := &store.Conversation{ID: "c", Metadata: []byte(`{"a":"b"}`), CreatedAt: time.UnixMilli(5)}
	f.must(f.CreateConversation(f.ctx, alice, c, []store.Item{item("i1", "message", "hi"), item("i2", "message", "ho")}))
	f.must(f.AddItems(f.ctx, alice, "c", []store.Item{item("i3", "message", "hum")}))
	past, err := f.Lock(f.ctx, alice, "c", "1", time.Minute, store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(past.Items, "i1 i2 i3")
	f.must(f.Insert(f.ctx, alice, turn("1", past)))
	f.must(f.Unlock(f.ctx, past, "1"))
	l, err := f.ConversationItems(f.ctx, alice, "c", store.Page{Limit: 3})
	f.must(err)
	f.wantIDs(l.Items, "a_1 r_1 q_1")
	got, err := f.SetMetadata(f.ctx, alice, "c", []byte(`{"c":"d"}`))
	f.must(err)
	if string(got.Metadata) != `{"c":"d"}` || got.CreatedAt.UnixMilli() != 5 {
		f.t.Errorf("%+v", got)
	}
	_, err = f.DeleteItem(f.ctx, alice, "c", "i2")
	f.must(err)
	_, err = f.DeleteItem(f.ctx, alice, "c", "i2")
	f.wants(err, store.ErrNotFound)
	// The items of a response outlive its retention in the conversation, and the conversation in the response.
	f.pass(2 * time.Hour)
	_, err = f.Expire(f.ctx, time.UnixMilli(f.now.Load()))
	f.must(err)
	_, _, err = f.Get(f.ctx, alice, "1", nil)
	f.wants(err, store.ErrNotFound)
	past, err = f.Lock(f.ctx, alice, "c", "2", time.Minute, store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(past.Items, "i1 i3 q_1 r_1 a_1")
	f.must(f.Insert(f.ctx, alice, turn("2", past)))
	_, err = f.Lock(f.ctx, alice, "c", "me", time.Minute, store.AtMost(10))
	var large *store.TooLargeError
	if !errors.As(err, &large) || large.Bytes != int64(sizeOf(past.Items)+sizeOf(turn("2", nil).Input)+
		sizeOf(turn("2", nil).Output)) {
		f.t.Errorf("a conversation beyond the limit: %v", err)
	}
	f.must(f.DeleteConversation(f.ctx, alice, "c"))
	_, output, err := f.Get(f.ctx, alice, "2", nil)
	f.must(err)
	f.wantIDs(output, "r_2 a_2")
	_, err = f.Item(f.ctx, alice, "i1", nil)
	f.wants(err, store.ErrNotFound)
}

func sizeOf(items []store.Item) (n int) {
	for i := range items {
		n += len(items[i].Body)
	}
	return n
}

func lock(f *fixture) {
	c := &store.Conversation{ID: "c", Metadata: []byte("{}"), CreatedAt: time.UnixMilli(5)}
	f.must(f.CreateConversation(f.ctx, alice, c, nil))
	past, err := f.Lock(f.ctx, alice, "c", "one", time.Minute, store.AtMost(1<<20))
	f.must(err)
	_, err = f.Lock(f.ctx, alice, "c", "two", time.Minute, store.AtMost(1<<20))
	f.wants(err, store.ErrLocked)
	f.pass(50 * time.Second)
	f.must(f.RenewLock(f.ctx, past, "one", time.Minute))
	f.pass(50 * time.Second)
	_, err = f.Lock(f.ctx, alice, "c", "two", time.Minute, store.AtMost(1<<20))
	f.wants(err, store.ErrLocked)
	f.pass(11 * time.Second)
	second, err := f.Lock(f.ctx, alice, "c", "two", time.Minute, store.AtMost(1<<20))
	f.must(err)
	f.wants(f.RenewLock(f.ctx, past, "one", time.Minute), store.ErrLost)
	f.must(f.Unlock(f.ctx, past, "one")) // it is another's: nothing changes
	_, err = f.Lock(f.ctx, alice, "c", "one", time.Minute, store.AtMost(1<<20))
	f.wants(err, store.ErrLocked)
	f.must(f.Unlock(f.ctx, second, "two"))
	// A response that is stored has given its conversation back, so that its client can ask on at once.
	past, err = f.Lock(f.ctx, alice, "c", "1", time.Minute, store.AtMost(1<<20))
	f.must(err)
	f.must(f.Insert(f.ctx, alice, turn("1", past)))
	f.enqueue("2", past)
	j := f.claim("one")
	past, err = f.Lock(f.ctx, alice, "c", "2", time.Minute, store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(past.Items, "q_1 r_1 a_1")
	f.must(f.Finish(f.ctx, j, outcome("2")))
	var locked atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := f.Lock(f.ctx, alice, "c", fmt.Sprint(i), time.Minute, store.AtMost(1<<20)); err == nil {
				locked.Add(1)
			} else if !errors.Is(err, store.ErrLocked) {
				f.t.Error(err)
			}
		})
	}
	all.Wait()
	if locked.Load() != 1 {
		f.t.Errorf("%d have the lock", locked.Load())
	}
}
