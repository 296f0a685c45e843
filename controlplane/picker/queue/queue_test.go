package queue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

// clock is a clock that a test sets.
type clock struct{ at time.Time }

func newClock() *clock                  { return &clock{time.Unix(1_000_000, 0)} }
func (c *clock) now() time.Time         { return c.at }
func (c *clock) pass(d time.Duration)   { c.at = c.at.Add(d) }
func (c *clock) in(s int) (d time.Time) { return c.at.Add(time.Duration(s) * time.Second) }

func mustPush(t *testing.T, q *Queue, r Request) *Item {
	t.Helper()
	i, why := q.Push(r)
	if i == nil {
		t.Fatalf("%+v: %s", r, why)
	}
	return i
}

// popped returns the clients of the next n requests.
func popped(q *Queue, n int) (clients []string) {
	for range n {
		i := q.Pop()
		if i == nil {
			return clients
		}
		clients = append(clients, i.Client)
	}
	return clients
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// TestNoisyNeighbour: a client with ten times as many requests gets as many tokens as each other client with requests.
func TestNoisyNeighbour(t *testing.T) {
	q := New(Options{})
	for n := range 1000 {
		mustPush(t, q, Request{Client: "noisy", Cost: 500})
		if n < 100 {
			mustPush(t, q, Request{Client: "quiet", Cost: 500})
			mustPush(t, q, Request{Client: "long", Cost: 5000})
		}
	}
	got := popped(q, 63)
	if a, b, c := count(got, "noisy"), count(got, "quiet"), count(got, "long"); a != 30 || b != 30 || c != 3 {
		t.Errorf("admitted are %d, %d and %d", a, b, c)
	}
	// A newcomer does not wait for the others' requests.
	mustPush(t, q, Request{Client: "new", Cost: 500})
	if got := popped(q, 4); count(got, "new") != 1 {
		t.Errorf("a newcomer waits: %v", got)
	}
}

// TestAbsence: a client that was away is not paid for it.
func TestAbsence(t *testing.T) {
	q := New(Options{})
	for range 100 {
		mustPush(t, q, Request{Client: "a", Cost: 10})
	}
	popped(q, 50)
	for range 100 {
		mustPush(t, q, Request{Client: "b", Cost: 10})
	}
	if got := popped(q, 20); count(got, "a") < 9 || count(got, "b") < 9 {
		t.Errorf("admitted are %v", got)
	}
}

// TestPopIf: the next one that may go does, and the one that may not loses nothing by it.
func TestPopIf(t *testing.T) {
	q := New(Options{})
	for range 10 {
		mustPush(t, q, Request{Client: "noisy", Cost: 100})
		mustPush(t, q, Request{Client: "quiet", Cost: 10})
	}
	var got []string
	for range 5 {
		got = append(got, q.PopIf(func(r *Request) bool { return r.Client != "noisy" }).Client)
	}
	if q.PopIf(func(*Request) bool { return false }) != nil {
		t.Error("a request that may not go is admitted")
	}
	if mustPush(t, q, Request{Client: "new", Cost: 10}); count(got, "quiet") != 5 {
		t.Errorf("admitted are %v", got)
	}
	if next := popped(q, 2); next[0] != "noisy" || next[1] != "new" {
		t.Errorf("then %v are admitted", next)
	}
}

func TestWeights(t *testing.T) {
	q := New(Options{})
	for range 400 {
		mustPush(t, q, Request{Client: "one", Cost: 100})
		mustPush(t, q, Request{Client: "three", Cost: 100, Weight: 3})
	}
	if got := popped(q, 400); count(got, "three") != 300 {
		t.Errorf("the weight of 3 got %d of 400", count(got, "three"))
	}
}

func TestClasses(t *testing.T) {
	q := New(Options{Classes: 2})
	for range 3 {
		mustPush(t, q, Request{Client: "batch", Class: 1, Cost: 1})
		mustPush(t, q, Request{Client: "later", Class: 9, Cost: 1}) // a class that there is not is the last one
	}
	mustPush(t, q, Request{Client: "agent", Cost: 1_000_000})
	mustPush(t, q, Request{Client: "agent", Cost: 1_000_000})
	want := []string{"agent", "agent", "batch", "later", "batch", "later", "batch", "later"}
	if got := popped(q, 9); !slices.Equal(got, want) {
		t.Errorf("admitted are %v", got)
	}
}

// TestDeadlines: a request whose deadline has passed is not admitted, and its owner is told once.
func TestDeadlines(t *testing.T) {
	c := newClock()
	q := New(Options{Now: c.now})
	var told []Ending
	late := mustPush(t, q, Request{Client: "a", Cost: 1, Deadline: c.in(1), Dropped: func(e Ending) {
		told = append(told,
			e)
	}})
	mustPush(t, q, Request{Client: "a", Cost: 1, Deadline: c.in(3)})
	if i, why := q.Push(Request{Client: "a", Cost: 1, Deadline: c.at}); i != nil || why != Late {
		t.Errorf("a request without time waits: %s", why)
	}
	c.pass(time.Second)
	if i := q.Pop(); i == nil || i.Deadline != c.in(2) || late.Ending() != Late || !slices.Equal(told, []Ending{Late}) {
		t.Errorf("admitted is %+v, told was %v", i, told)
	}
	if q.Leave(late, Left) {
		t.Error("a request left that was not there")
	}
}

// TestLeave: a request that leaves is not admitted, wherever it was, and costs its client nothing.
func TestLeave(t *testing.T) {
	for _, gone := range [][]int{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}, {2, 1, 0}} {
		q := New(Options{})
		var items []*Item
		for n := range 3 {
			items = append(items, mustPush(t, q, Request{Client: "a", Cost: 1000, Bytes: int64(n)}))
		}
		mustPush(t, q, Request{Client: "b", Cost: 1})
		for _, n := range gone {
			if !q.Leave(items[n], Left) || q.Leave(items[n], Left) {
				t.Fatalf("%v: leaving does not work once", gone)
			}
		}
		var got []int64
		for i := q.Pop(); i != nil; i = q.Pop() {
			if i.Client == "a" {
				got = append(got, i.Bytes)
			}
		}
		var want []int64
		for n := range int64(3) {
			if !slices.Contains(gone, int(n)) {
				want = append(want, n)
			}
		}
		if !slices.Equal(got, want) || q.waiting != (Amount{}) {
			t.Errorf("%v: admitted are %v, %+v waits", gone, got, q.waiting)
		}
	}
	q := New(Options{})
	first := mustPush(t, q, Request{Client: "a", Cost: 1_000_000})
	mustPush(t, q, Request{Client: "a", Cost: 10})
	mustPush(t, q, Request{Client: "b", Cost: 10})
	q.Leave(first, Left)
	if got := popped(q, 2); !slices.Contains(got, "a") {
		t.Errorf("a client pays for a request that has left: %v", got)
	}
}

func TestBounds(t *testing.T) {
	for name, tt := range map[string]struct {
		all, client Limits
		pushes      []Request
		want        []Ending
	}{
		"requests": {all: Limits{Requests: 2}, pushes: []Request{{Client: "a"}, {Client: "a"}, {Client: "a"}},
			want: []Ending{Waiting, Waiting, Full}},
		"tokens": {all: Limits{Tokens: 10}, pushes: []Request{{Client: "a", Cost: 11}, {Client: "a", Cost: 10}, {Client: "a",
			Cost: 1}},
			want: []Ending{Full, Waiting, Full}},
		"bytes": {all: Limits{Bytes: 10}, pushes: []Request{{Client: "a", Bytes: 4}, {Client: "a", Bytes: 6}, {Client: "a",
			Bytes: 1}},
			want: []Ending{Waiting, Waiting, Full}},
		"of a client": {client: Limits{Requests: 1, Tokens: 5}, pushes: []Request{{Client: "a"}, {Client: "a"}, {Client: "b",
			Cost: 6}, {Client: "b", Cost: 5}},
			want: []Ending{Waiting, Share, Share, Waiting}},
		"none": {pushes: []Request{{Client: "a", Cost: math.MaxInt32, Bytes: math.MaxInt32}, {Client: "a"}},
			want: []Ending{Waiting, Waiting}},
		"less than nothing": {all: Limits{Tokens: 1}, pushes: []Request{{Client: "a", Cost: -9, Bytes: -9}, {Client: "a",
			Cost: -9}},
			want: []Ending{Waiting, Full}},
	} {
		q := New(Options{All: tt.all, Client: tt.client})
		for n, r := range tt.pushes {
			if _, got := q.Push(r); got != tt.want[n] {
				t.Errorf("%s: request %d is %s, want %s", name, n, got, tt.want[n])
			}
		}
	}
}

// TestDisplaced: in a full queue a better class takes the place of a worse one, and a client with less the place of the
// client with most. The newest request goes.
func TestDisplaced(t *testing.T) {
	q := New(Options{All: Limits{Requests: 4}, Classes: 2})
	var gone []string
	push := func(client string, class int, cost int64) Ending {
		_, e := q.Push(Request{Client: client, Class: class, Cost: cost, Dropped: func(e Ending) {
			gone = append(gone, fmt.Sprint(client, " ", cost, " ", e))
		}})
		return e
	}
	push("noisy", 1, 10)
	push("noisy", 1, 20)
	push("noisy", 1, 30)
	push("quiet", 1, 5)
	if e := push("noisy", 1, 1); e != Full {
		t.Errorf("the client with most is %s", e)
	}
	if e := push("quiet", 1, 5); e != Waiting {
		t.Errorf("a client with less is %s", e)
	}
	for range 4 {
		if e := push("agent", 0, 1); e != Waiting {
			t.Errorf("a better class is %s", e)
		}
	}
	if e := push("quiet", 1, 5); e != Full {
		t.Errorf("a worse class is %s", e)
	}
	want := []string{"noisy 30 displaced", "noisy 20 displaced", "noisy 10 displaced", "quiet 5 displaced",
		"quiet 5 displaced"}
	slices.Sort(gone[1:3]) // which of the two clients has most changes with each
	slices.Sort(want[1:3])
	if len(gone) != 5 || gone[0] != want[0] || count(gone, "quiet 5 displaced") != 2 {
		t.Errorf("displaced are %v", gone)
	}
}

// TestWait: the estimate is what a request like this one then waits for.
func TestWait(t *testing.T) {
	c := newClock()
	q := New(Options{Now: c.now, Classes: 2})
	if d := q.Wait(&Request{Client: "a"}); d != unknownWait {
		t.Errorf("without any rate the wait is %s", d)
	}
	for range 600 { // 100 tokens a second
		mustPush(t, q, Request{Client: "a", Cost: 100})
		mustPush(t, q, Request{Client: "b", Cost: 100, Class: 1})
		q.Pop()
		c.pass(time.Second)
	}
	if rate := q.Rate(); rate < 95 || rate > 105 {
		t.Errorf("the rate is %.1f", rate)
	}
	if q.Len() != 600 {
		t.Fatalf("%d wait", q.Len())
	}
	for range 100 {
		mustPush(t, q, Request{Client: "a", Cost: 100})
	}
	for _, tt := range []struct {
		r         Request
		low, high time.Duration
	}{
		{Request{Client: "a", Cost: 100}, 95 * time.Second, 110 * time.Second},
		{Request{Client: "new", Cost: 100}, time.Second, 3 * time.Second},
		{Request{Client: "new", Cost: 100, Class: 1}, 95 * time.Second, 115 * time.Second},
		{Request{Client: "b", Cost: 100, Class: 1}, maxWait, maxWait},
	} {
		if d := q.Wait(&tt.r); d < tt.low || d > tt.high {
			t.Errorf("%+v: %s", tt.r, d)
		}
	}
}

// TestBooks plays random arrivals, departures and admissions: each request ends once, and what waits is what has not
// ended.
func TestBooks(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := newClock()
		q := New(Options{Now: c.now, Classes: 3, All: Limits{Requests: 40, Tokens: 9000, Bytes: 50_000},
			Client: Limits{Requests: 25, Tokens: 8000}})
		arrived, told := 0, map[*Item]int{}
		var here []*Item
		for range 600 {
			switch random.IntN(6) {
			case 0, 1, 2:
				arrived++
				var self *Item
				r := Request{Client: fmt.Sprint(random.IntN(6)), Class: random.IntN(3), Weight: random.IntN(4),
					Cost: random.Int64N(1000), Bytes: random.Int64N(5000), Dropped: func(Ending) { told[self]++ }}
				if random.IntN(2) == 0 {
					r.Deadline = c.in(random.IntN(20))
				}
				if i, _ := q.Push(r); i != nil {
					self = i
					here = append(here, i)
				}
			case 3:
				if len(here) > 0 {
					at := random.IntN(len(here))
					q.Leave(here[at], Left)
				}
			case 4:
				if not := fmt.Sprint(random.IntN(6)); random.IntN(2) == 0 {
					q.Pop()
				} else if i := q.PopIf(func(r *Request) bool { return r.Client != not }); i != nil && i.Client == not {
					t.Fatalf("seed %d: a request that may not go is admitted", seed)
				}
			case 5:
				c.pass(time.Duration(random.IntN(3)) * time.Second)
				if random.IntN(100) == 0 {
					q.Drop(Unserved)
				}
			}
			checkQueue(t, q)
		}
		var ended uint64
		for _, s := range q.Stats() {
			for _, n := range s.Counts {
				ended += n
			}
		}
		if int(ended)+q.Len() != arrived {
			t.Fatalf("seed %d: %d have come, %d have ended and %d wait", seed, arrived, ended, q.Len())
		}
		for _, i := range here {
			want := 0
			if e := i.Ending(); e == Late || e == Displaced || e == Unserved {
				want = 1
			}
			if told[i] != want {
				t.Fatalf("seed %d: a request that is %s was told %d times", seed, i.Ending(), told[i])
			}
		}
		q.Drop(Unserved)
		checkQueue(t, q)
		if q.waiting != (Amount{}) {
			t.Fatalf("seed %d: %+v waits in an empty queue", seed, q.waiting)
		}
	}
}

// checkQueue checks that the parts of a queue agree.
func checkQueue(t *testing.T, q *Queue) {
	t.Helper()
	var sum Amount
	for n := range q.classes {
		c := &q.classes[n]
		var of Amount
		for client, f := range c.flows {
			var own Amount
			for i := f.first; i != nil; i = i.behind {
				own.add(&i.Request, 1)
				if i.Ending() != Waiting || i.flow != f || i.behind == nil && f.last != i {
					t.Fatalf("the flow of %s is broken", client)
				}
			}
			if own != f.waiting || (f.first == nil) != (f.places[0] < 0) || (f.places[0] < 0) != (f.places[1] < 0) {
				t.Fatalf("%s has %+v, its flow says %+v", client, own, f.waiting)
			}
			if f.places[0] >= 0 && (c.starts.flows[f.places[0]] != f || c.sizes.flows[f.places[1]] != f) {
				t.Fatalf("the heaps do not have %s where it is", client)
			}
			of.Requests += own.Requests
			of.Tokens += own.Tokens
			of.Bytes += own.Bytes
		}
		for i := range c.starts.Len() {
			if i > 0 && c.starts.Less(i, (i-1)/2) || i > 0 && c.sizes.Less(i, (i-1)/2) {
				t.Fatal("a heap is out of order")
			}
		}
		if of != c.waiting || c.starts.Len() != c.sizes.Len() {
			t.Fatalf("class %d has %+v, and says %+v", n, of, c.waiting)
		}
		sum.Requests += of.Requests
		sum.Tokens += of.Tokens
		sum.Bytes += of.Bytes
	}
	if sum != q.waiting || q.o.All.exceeded(q.waiting) {
		t.Fatalf("%+v waits, the queue says %+v", sum, q.waiting)
	}
}

// TestManyClients: clients that come once do not stay in memory.
func TestManyClients(t *testing.T) {
	q := New(Options{})
	mustPush(t, q, Request{Client: "stays", Cost: 1})
	for n := range 100_000 {
		mustPush(t, q, Request{Client: fmt.Sprint(n), Cost: 10})
		mustPush(t, q, Request{Client: "stays", Cost: 10})
		q.Pop()
		q.Pop()
	}
	if n := len(q.classes[0].flows); n > 4*minSweep {
		t.Errorf("%d clients are remembered, %d requests wait", n, q.Len())
	}
}

// TestFairness: over any time in which two clients have requests, what they have got for their weights differs by no
// more than their largest requests cost.
func TestFairness(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 2))
		q := New(Options{})
		weights, got := map[string]int{"a": 1, "b": 2, "c": 5}, map[string]float64{}
		largest := 0.0
		for client, w := range weights {
			for range 300 {
				cost := 1 + random.Int64N(10_000)
				largest = max(largest, float64(cost)/float64(w))
				mustPush(t, q, Request{Client: client, Weight: w, Cost: cost})
			}
		}
		for range 200 {
			i := q.Pop()
			got[i.Client] += float64(i.Cost) / float64(i.Weight)
			for one := range weights {
				for other := range weights {
					if d := got[one] - got[other]; d > 2*largest {
						t.Fatalf("seed %d: %s has %.0f more than %s", seed, one, d, other)
					}
				}
			}
		}
	}
}

func TestEndings(t *testing.T) {
	for _, e := range Endings {
		if e.String() == "" || e.Refused() != (e != Admitted && e != Left) {
			t.Errorf("%d is %q", e, e)
		}
	}
}

// BenchmarkQueue measures a request's way through a queue with others in it.
func BenchmarkQueue(b *testing.B) {
	for _, others := range []int{0, 10_000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			q := New(Options{Classes: 3})
			for n := range others {
				_, _ = q.Push(Request{Client: fmt.Sprint(n % 100), Class: n % 3, Cost: int64(1000 + n)})
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				_, _ = q.Push(Request{Client: "client", Class: n % 3, Cost: int64(1000 + n%4000)})
				_ = q.Pop()
			}
		})
	}
}

// TestMemory bounds what a waiting request takes here.
func TestMemory(t *testing.T) {
	const n = 10_000
	clients := make([]string, 100)
	for i := range clients {
		clients[i] = fmt.Sprint("client ", i)
	}
	q := New(Options{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range n {
		mustPush(t, q, Request{Client: clients[i%100], Cost: 1000})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := int64(after.HeapAlloc-before.HeapAlloc) / n
	t.Logf("%d bytes a request", each)
	if each > 512 {
		t.Errorf("a request takes %d bytes", each)
	}
	runtime.KeepAlive(q)
}
