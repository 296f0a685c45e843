//go:build e2e

package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/page/fake"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// queueOf is a queue in which requests wait.
func queueOf() *server.Queue {
	return &server.Queue{Picker: "http://10.0.0.5:9002", QueueStatus: picker.QueueStatus{TokensPerSecond: 48_100,
		Classes: []picker.ClassStatus{
			{Name: "interactive", Requests: 12, Tokens: 98_304, OldestMS: 26_000, DeadlineMS: 30_000,
				Ended: map[string]uint64{"admitted": 18_233, "left": 41, "deadline": 7, "full": 120}},
			{Name: "batch", Requests: 340, Tokens: 5_210_442, OldestMS: 61_000, DeadlineMS: 600_000,
				Ended: map[string]uint64{"admitted": 902, "displaced": 66}},
		}}}
}

// TestQueue sees what waits for a pool, what has waited too long, what is held, and a picker that is away.
func TestQueue(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := fake.Well(now)
	s.Pools[0].Queue = queueOf()
	f := newFleet(t, s)
	f.history.Set(now, history.Queued, map[string]string{"class": "batch"}, 340)
	b := open(t, f.serve(t), "/#/fleet")
	for _, text := range []string{"Queue: 352 requests wait", "48.1K tokens a second admitted of late", "interactive",
		"98.3K", "26.0 s", "18.2K", "of interactive 7 (waited too long), 120 (the queue was full)",
		"of batch 66 (gave their place to others)",
		"Requests of the class interactive wait too long for pool h200", "After 30.0 s they get 429"} {
		b.see(text)
	}
	if text := eval[string](b, `document.body.innerText`); strings.Contains(text, "class batch wait") {
		t.Error("a class whose requests have time is said to wait too long")
	}
	held := fake.Well(now)
	held.Pools[0].Queue = queueOf()
	held.Pools[0].Queue.Held, held.Pools[0].Down = true, now
	f.status.Store(&held)
	b.see("Queue: 352 requests held, since no server is ready")
	b.until(`!document.body.innerText.includes("wait too long")`)
	away := fake.Well(now)
	away.Pools[0].Queue = &server.Queue{Picker: "http://10.0.0.5:9002", Problem: "the picker does not answer in time"}
	f.status.Store(&away)
	b.see("The queue of pool h200 is not known")
	b.see("the picker does not answer in time (http://10.0.0.5:9002).")
}

// TestOneName sees each server that is down behind one name, and each warning of a pool.
func TestOneName(t *testing.T) {
	t.Parallel()
	s := fake.Well(time.Now())
	for i := range s.Pools[0].Servers {
		one := &s.Pools[0].Servers[i]
		one.URL, one.State, one.Reason = "http://gpus.internal:8000", pools.NotReady, "its model is not loaded"
		one.Address = []string{"10.0.1.1:8000", "10.0.1.2:8000", "10.0.1.3:8000"}[i%3]
	}
	s.Pools[0].Warnings = []string{"the first warning", "the second warning"}
	b := open(t, newFleet(t, s).serve(t), "/#/fleet")
	for _, text := range []string{"Its address is 10.0.1.1:8000", "Its address is 10.0.1.2:8000",
		"Its address is 10.0.1.3:8000", "the first warning", "the second warning"} {
		b.until(`document.querySelector(".attention").innerText.includes(` + lab.Quote(text) + `)`)
	}
}

// TestMissedCache sees of a request why its server's cache was missed.
func TestMissedCache(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fake.Well(time.Now()))
	for i, cached := range []int{64, 0} {
		if err := f.recorder.Add(fake.Request{ID: fmt.Sprintf("missed-%d", i), Model: lab.Model, API: "chat", Pool: "short",
			Prompt: strings.Repeat("Is it there? ", 100), Began: time.Now().Add(-time.Minute), Output: comparison,
			TokensPerPiece: 1, End: tap.EndReport{CachedTokens: cached, Around: tap.Around{Upstream: "10.0.1.2:8000"}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, f.serve(t), "/#/requests/missed-1")
	b.see("the server has not kept the earlier prompt; ")
}

// TestQueuedRequest sees of a request where it went, why, and how long it has waited.
func TestQueuedRequest(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fake.Well(time.Now()))
	if err := f.recorder.Add(fake.Request{ID: "0198f3a2-queued", Model: lab.Model, API: "chat", Pool: "short",
		Prompt: "Hello", Began: time.Now().Add(-time.Minute), Output: comparison, TokensPerPiece: 1,
		End: tap.EndReport{Policy: "picker", Route: "short;why=length;spare=burst", Client: "team-search",
			Around: tap.Around{Upstream: "10.0.1.2:8000", Class: "interactive", QueuedMS: 1240}}}); err != nil {
		t.Fatal(err)
	}
	b := open(t, f.serve(t), "/#/requests/0198f3a2-queued")
	for _, text := range []string{"short, by the prompt's length; a server of the spare burst answered", "10.0.1.2:8000",
		"team-search", "interactive", "1.24 s"} {
		b.see(text)
	}
	b.do(`location.hash = "#/requests"`)
	b.until(`[...document.querySelectorAll(".requests tr")].some((row) => row.innerText.includes("10.0.1.2:8000") &&
		row.innerText.includes("team-search"))`)
}
