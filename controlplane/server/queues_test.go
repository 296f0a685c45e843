package server

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/picker/queue"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// queueConfig returns a configuration of a pool with a queue at a picker, and one without.
func queueConfig(t *testing.T, address string) *config.Resolved {
	t.Helper()
	c, err := config.Parse("h.yaml", []byte(`
models: [{name: m, pool: p}, {name: n, pool: q}]
pools:
- {name: p, servers: ['http://h:1'], policy: picker, picker: {url: 'http://`+address+`'}, capacity: 8,
   queue: {max_requests: 9}}
- {name: q, servers: ['http://h:3']}
`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// TestQueuesAreAsked: what a picker says of a queue is shown as long as it says so, and for a while longer.
func TestQueuesAreAsked(t *testing.T) {
	l := listen(t)
	p := picker.New(picker.Options{})
	p.Set(map[string][]picker.Server{"p": {{Address: netip.MustParseAddrPort("10.0.0.1:1"), Requests: -1}}})
	p.SetQueues(map[string]picker.QueueOptions{"p": {Capacity: 1, BlockSize: 16, Classes: []string{"agents", "batch"},
		Deadlines: []time.Duration{time.Minute, time.Minute}, All: queue.Limits{Requests: 9},
		ClassOf: func(string) (class, weight int) { return 0, 1 }}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- picker.NewService(p, nil).Serve(ctx, l) }()
	c := queueConfig(t, l.Addr().String())
	var q queues
	if one := q.of(&c.Pools[0], time.Now()); one == nil || one.Problem != "the picker has not been asked yet" {
		t.Errorf("before the first answer: %+v", one)
	}
	if one := q.of(&c.Pools[1], time.Now()); one != nil {
		t.Errorf("a pool without a queue has %+v", one)
	}
	q.ask(t.Context(), c)
	one := q.of(&c.Pools[0], time.Now())
	if one.Problem != "" || len(one.Classes) != 2 || one.Classes[1].Name != "batch" || one.Classes[0].Ended["full"] != 0 ||
		one.Picker != "http://"+l.Addr().String() {
		t.Fatalf("the queue is %+v", one)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	q.ask(t.Context(), c)
	one = q.of(&c.Pools[0], time.Now())
	if len(one.Classes) != 2 || !strings.HasPrefix(one.Problem, "the picker cannot be reached: ") {
		t.Errorf("without the picker: %+v", one)
	}
	if one = q.of(&c.Pools[0], time.Now().Add(queuesKept)); len(one.Classes) != 0 || one.Problem == "" {
		t.Errorf("long after the picker: %+v", one)
	}
}

// TestQueuesOfOthers: a picker without the question, and one without the pool, are told apart.
func TestQueuesOfOthers(t *testing.T) {
	other, empty := listen(t), listen(t)
	g := grpc.NewServer()
	go func() { _ = g.Serve(other) }()
	defer g.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- picker.NewService(picker.New(picker.Options{}), nil).Serve(ctx, empty) }()
	for l, want := range map[net.Listener]string{other: "it is of another version", empty: "no queue for this pool"} {
		c := queueConfig(t, l.Addr().String())
		var q queues
		q.ask(t.Context(), c)
		if one := q.of(&c.Pools[0], time.Now()); !strings.Contains(one.Problem, want) || one.Classes == nil {
			t.Errorf("got %+v, want %q", one, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestQueuesInTheHistory: what waits is added up by class, and refusals by reason.
func TestQueuesInTheHistory(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	h := history.New(history.Options{Now: func() time.Time { return now }})
	full := uint64(0)
	for range 4 {
		class := func(name string, n int) picker.ClassStatus {
			return picker.ClassStatus{Name: name, Requests: n, Ended: map[string]uint64{"full": full, "admitted": 9}}
		}
		observeQueues(h, now, []Pool{
			{Name: "p", Queue: &Queue{QueueStatus: picker.QueueStatus{
				Classes: []picker.ClassStatus{class("a", 1), class("b", 2)}}}},
			{Name: "q", Queue: &Queue{QueueStatus: picker.QueueStatus{Classes: []picker.ClassStatus{class("a", 4)}}}},
			{Name: "r", Queue: &Queue{Problem: "away"}}, {Name: "s"},
		})
		full += 5
		now = now.Add(5 * time.Second)
	}
	now = now.Add(5 * time.Second)
	got := map[string]history.Value{}
	for _, s := range h.Page().Series {
		got[s.Name+s.Labels["class"]+s.Labels["reason"]] = s.Values[2]
	}
	if got["queued_requestsa"] != 5 || got["queued_requestsb"] != 2 || got["queue_refusals_per_minutefull"] != 180 {
		t.Errorf("the history has %v", got)
	}
}

// TestRefusals: the reasons are in one order, and those that did not happen are left out.
func TestRefusals(t *testing.T) {
	c := picker.ClassStatus{Ended: map[string]uint64{"admitted": 7, "left": 1, "full": 3, "deadline": 2, "no_server": 0}}
	if got := Refusals(&c); got != "deadline 2, full 3" {
		t.Errorf("got %q", got)
	}
	if got := Refusals(&picker.ClassStatus{}); got != "" {
		t.Errorf("got %q", got)
	}
}
