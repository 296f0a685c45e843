package rollout

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/sight/history"
)

var oldFilter, newFilter = Filter{Version: "1", SHA256: "aa"}, Filter{Version: "2", SHA256: "bb"}

// fleet is a fleet without Envoys: it pushes what such Envoys would.
type fleet struct {
	t        *testing.T
	random   *rand.Rand
	now      time.Time
	watch    *Watch
	run      *Run
	all      []Member
	counters map[string]*pushed
	// requests is the number of requests at each Envoy between two pushes. serverErrors is the part of them that servers
	// fail, and bad what the new filter does to one request.
	requests     int
	serverErrors float64
	bad          func(p *pushed)
}

// pushed is what one Envoy has counted.
type pushed struct{ ok, refused, gateway, servers, vms, answers, parse, repairs float64 }

const pace = 5 * time.Second

func newFleet(t *testing.T, seed uint64, n int) *fleet {
	f := &fleet{t: t, random: rand.New(rand.NewPCG(seed, 0)), now: time.Unix(1_700_000_000, 0), watch: NewWatch(0),
		counters: map[string]*pushed{}, requests: 20, bad: func(*pushed) {}}
	for i := range n {
		f.add(fmt.Sprintf("edge-%d", i), "")
	}
	for range 30 {
		f.push()
	}
	return f
}

func (f *fleet) add(id, group string) {
	f.all = append(f.all, Member{ID: id, Group: group, Accepted: true})
	f.counters[id] = &pushed{}
}

// push lets all Envoys push once.
func (f *fleet) push() {
	f.now = f.now.Add(pace)
	for _, m := range f.all {
		p := f.counters[m.ID]
		version := oldFilter.Version
		fresh := f.run != nil && f.run.State == Watching && f.run.Choice.Has(m.ID, m.Group)
		if fresh {
			version = newFilter.Version
		}
		for range f.requests {
			switch {
			case f.random.Float64() < f.serverErrors:
				p.servers++
			case fresh:
				before := *p
				if f.bad(p); *p == before {
					p.ok++
					p.answers++
				}
			default:
				p.ok++
				p.answers++
			}
		}
		f.watch.Add(f.now, m.ID, m.ID, p.families(version))
	}
}

func (p *pushed) families(version string) history.Families {
	one := func(name string, value float64, labels ...string) history.Family {
		s := history.Sample{Value: value, Labels: map[string]string{}}
		for i := 0; i < len(labels); i += 2 {
			s.Labels[labels[i]] = labels[i+1]
		}
		return history.Family{Name: name, Samples: []history.Sample{s}}
	}
	class := func(class string, n float64) history.Family {
		return one(ClassFamily, n, classLabel, class, managerLabel, "harmony")
	}
	return history.Families{class("2", p.ok), class("4", p.refused), class("5", p.gateway+p.servers),
		one(ClassFamily, 1e6, classLabel, "5", managerLabel, "admin"),
		one("harmony_requests_total", p.answers, "status", "200"),
		one("harmony_requests_total", p.servers, "status", "502"), one(ReloadFamily, p.vms),
		one("harmony_channel_parse_errors_total", p.parse, "kind", "no_role"), one("harmony_recoveries_total", p.repairs),
		one("harmony_build_info", 1, "version", version, "config", "0")}
}

// plan is what most tests want.
func plan() Plan {
	return Plan{Filter: newFilter, Share: 0.1, For: time.Minute, Requests: 100}
}

func (f *fleet) begin(p Plan) {
	f.t.Helper()
	var err error
	if f.run, err = Begin(f.now, p, oldFilter, f.all, f.watch); err != nil {
		f.t.Fatal(err)
	}
}

// until pushes and looks until the rollout ends or reaches a step, and returns how long that took. It gives up after
// limit.
func (f *fleet) until(step int, limit time.Duration) time.Duration {
	begin := f.now
	for f.run.State == Watching && f.run.At < step && f.now.Sub(begin) < limit {
		f.push()
		f.run.Look(f.now, f.all, f.watch)
	}
	return f.now.Sub(begin)
}

func (f *fleet) chosen() (n int) {
	for _, m := range f.all {
		if f.run.Choice.Has(m.ID, m.Group) {
			n++
		}
	}
	return n
}

// TestGood: a good filter goes from one Envoy in ten to half of them to all, each step watched as long as was said.
func TestGood(t *testing.T) {
	f := newFleet(t, 1, 20)
	f.begin(plan())
	for step, want := range []int{2, 10, 20} {
		if got := f.chosen(); f.run.At != step || got != want {
			t.Fatalf("at step %d, with %d Envoys, want %d with %d", f.run.At, got, step, want)
		}
		if took := f.until(step+1, time.Hour); took < time.Minute || took > 2*time.Minute {
			t.Errorf("step %d took %s", step, took)
		}
	}
	if f.run.State != Done {
		t.Errorf("%s: %s", f.run.State, f.run.Reason)
	}
}

// TestBad: filters that are bad in different ways are taken back while few Envoys have them.
func TestBad(t *testing.T) {
	for name, bad := range map[string]func(f *fleet, p *pushed){
		"gateway_errors": func(f *fleet, p *pushed) {
			if f.random.IntN(10) == 0 {
				p.gateway++
			}
		},
		"vm_failures": func(f *fleet, p *pushed) {
			if f.random.IntN(20) == 0 {
				p.vms++
				p.ok++
			}
		},
		"refused": func(f *fleet, p *pushed) {
			if f.random.IntN(5) == 0 {
				p.refused++
			}
		},
		"parse_errors": func(f *fleet, p *pushed) {
			if f.random.IntN(10) == 0 {
				p.ok, p.answers, p.parse = p.ok+1, p.answers+1, p.parse+1
			}
		},
		"recoveries": func(f *fleet, p *pushed) {
			if f.random.IntN(10) == 0 {
				p.ok, p.answers, p.repairs = p.ok+1, p.answers+1, p.repairs+3
			}
		},
	} {
		for seed := range uint64(20) {
			f := newFleet(t, seed, 10)
			f.serverErrors = 0.02
			f.bad = func(p *pushed) { bad(f, p) }
			f.begin(plan())
			f.until(1, time.Hour)
			if f.run.State != TakenBack || !strings.Contains(f.run.Reason, name+" (") {
				t.Errorf("%s, seed %d: step %d, %s: %s", name, seed, f.run.At, f.run.State, f.run.Reason)
			}
		}
	}
}

// TestSame: filters that are no worse are seldom taken back, with servers that fail and few requests or many.
func TestSame(t *testing.T) {
	back, all := 0, 0
	for _, requests := range []int{1, 3, 20, 100} {
		for seed := range uint64(30) {
			f := newFleet(t, seed, 8)
			f.requests, f.serverErrors = requests, 0.05
			f.begin(plan())
			f.until(3, 24*time.Hour)
			all++
			if f.run.State != Done {
				back++
				t.Logf("%d requests, seed %d: %s: %s", requests, seed, f.run.State, f.run.Reason)
			}
		}
	}
	if back > all/40 {
		t.Errorf("%d of %d are taken back", back, all)
	}
}

// TestServersFail: servers that fail during a step are not the filter's fault, also when all Envoys have it.
func TestServersFail(t *testing.T) {
	f := newFleet(t, 1, 4)
	f.begin(plan())
	f.serverErrors = 0.5
	f.until(2, time.Hour)
	f.serverErrors = 1
	for range 3 {
		f.push()
		f.run.Look(f.now, f.all, f.watch)
	}
	if f.run.State != Watching || f.run.At != 2 {
		t.Errorf("step %d: %s: %s", f.run.At, f.run.State, f.run.Reason)
	}
}

// TestBadForAll: what shows only when all have the filter is compared with before.
func TestBadForAll(t *testing.T) {
	f := newFleet(t, 1, 4)
	f.begin(plan())
	f.until(2, time.Hour)
	f.bad = func(p *pushed) {
		if f.random.IntN(10) == 0 {
			p.gateway++
		}
	}
	f.until(3, time.Hour)
	if f.run.State != TakenBack || !strings.Contains(f.run.Reason, "with the old filter before") {
		t.Errorf("%s: %s", f.run.State, f.run.Reason)
	}
}

// TestWaits: without requests, or without an Envoy's answer, a rollout stands still, and says why.
func TestWaits(t *testing.T) {
	f := newFleet(t, 1, 4)
	f.requests = 0
	f.begin(plan())
	f.until(1, time.Hour)
	if f.run.State != Watching || !strings.Contains(f.run.Reason, "waits for 100 requests") {
		t.Errorf("%s: %s", f.run.State, f.run.Reason)
	}
	f.requests = 20
	for i := range f.all {
		f.all[i].Accepted = !f.run.Choice.Has(f.all[i].ID, "")
	}
	f.until(1, time.Hour)
	if f.run.State != Watching || !strings.Contains(f.run.Reason, "does not have it yet") {
		t.Errorf("%s: %s", f.run.State, f.run.Reason)
	}
	for i := range f.all {
		if f.run.Choice.Has(f.all[i].ID, "") {
			f.all[i].Refused = "no such function"
		}
	}
	f.until(1, time.Hour)
	if f.run.State != TakenBack || !strings.Contains(f.run.Reason, "refuses it: no such function") {
		t.Errorf("%s: %s", f.run.State, f.run.Reason)
	}
}

// TestHold: a step that is held goes on when the operator says so.
func TestHold(t *testing.T) {
	f := newFleet(t, 1, 4)
	p := plan()
	p.Hold = true
	f.begin(p)
	f.until(1, time.Hour)
	if f.run.At != 0 || !strings.Contains(f.run.Reason, "held") {
		t.Errorf("step %d: %s", f.run.At, f.run.Reason)
	}
	f.run.On(f.now, f.all, f.watch)
	f.until(3, time.Hour)
	if f.run.State != Done {
		t.Errorf("%s: %s", f.run.State, f.run.Reason)
	}
}

// TestSaved: a rollout that is saved goes on after a restart, with the present step from its beginning.
func TestSaved(t *testing.T) {
	f := newFleet(t, 1, 20)
	f.begin(plan())
	f.until(1, time.Hour)
	before := f.chosen()
	text, err := json.Marshal(f.run)
	if err != nil {
		t.Fatal(err)
	}
	f.watch, f.run = NewWatch(0), &Run{}
	if err := json.Unmarshal(text, f.run); err != nil {
		t.Fatal(err)
	}
	f.run.Resume(f.now, f.watch)
	if f.chosen() != before || f.run.At != 1 {
		t.Errorf("%d Envoys, before %d", f.chosen(), before)
	}
	if took := f.until(3, time.Hour); f.run.State != Done || took < 2*time.Minute {
		t.Errorf("after %s %s: %s", took, f.run.State, f.run.Reason)
	}
}

// TestChoice: a choice has its share of Envoys, keeps those that it has, and leaves one out.
func TestChoice(t *testing.T) {
	var all []Member
	for i := range 2000 {
		all = append(all, Member{ID: fmt.Sprintf("edge-%d", i), Group: []string{"a", "b"}[i%2]})
	}
	n := func(c Choice, of []Member) (n int) {
		for _, m := range of {
			if c.Has(m.ID, m.Group) {
				n++
			}
		}
		return n
	}
	first, ok := Choice(nil).with("", 0.1, all[:1000])
	if got := n(first, all[:1000]); !ok || got != 100 {
		t.Errorf("%d of 1,000", got)
	}
	if got := n(first, all[1000:]); got < 60 || got > 140 {
		t.Errorf("%d of 1,000 that come later", got)
	}
	group, ok := Choice(nil).with("a", 1, all)
	if got := n(group, all); !ok || got != 1000 {
		t.Errorf("%d of the group", got)
	}
	more, ok := group.with("", 0.75, all)
	if got := n(more, all); !ok || got != 1500 {
		t.Errorf("%d of all", got)
	}
	if _, ok := group.with("", 0.5, all); ok {
		t.Error("a step that chooses nobody more")
	}
	for share, want := range map[float64]int{0.01: 1, 0.5: 1, 0.99: 1, 1: 2} {
		c, ok := Choice(nil).with("", share, all[:2])
		if got := n(c, all[:2]); !ok || got != want {
			t.Errorf("%g of two are %d", share, got)
		}
	}
	if c, ok := Choice(nil).with("", 0.1, all[:1]); !ok || n(c, all[:1]) != 1 {
		t.Error("one alone is not chosen")
	}
}

// TestRefusedPlans: plans that cannot be followed.
func TestRefusedPlans(t *testing.T) {
	f := newFleet(t, 1, 2)
	for name, change := range map[string]func(*Plan){
		"chooses no Envoy":  func(p *Plan) { p.Share = 0 },
		"watched for":       func(p *Plan) { p.For = 0 },
		"out of range":      func(p *Plan) { p.Requests = 0 },
		"already":           func(p *Plan) { p.Filter = oldFilter },
		"no Envoy of the g": func(p *Plan) { p.Group = "canary" },
	} {
		p := plan()
		change(&p)
		if _, err := Begin(f.now, p, oldFilter, f.all, f.watch); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Begin(f.now, plan(), oldFilter, nil, f.watch); err == nil {
		t.Error("a fleet of none")
	}
}

// TestRestarts: a filter with which Envoys die again and again is taken back.
func TestRestarts(t *testing.T) {
	f := newFleet(t, 1, 20)
	p := plan()
	p.For = time.Hour
	f.begin(p)
	starts := 0
	for f.run.State == Watching && f.run.At == 0 && starts < 20 {
		for range 6 {
			f.push()
		}
		for _, m := range f.all {
			if f.run.Choice.Has(m.ID, m.Group) {
				starts++
				*f.counters[m.ID] = pushed{}
				f.watch.Add(f.now, m.ID, fmt.Sprint(m.ID, starts), f.counters[m.ID].families(newFilter.Version))
				break
			}
		}
		f.run.Look(f.now, f.all, f.watch)
	}
	if f.run.State != TakenBack || !strings.Contains(f.run.Reason, "restarts (") || starts > 4 {
		t.Errorf("after %d restarts %s: %s", starts, f.run.State, f.run.Reason)
	}
}

// TestWatchIsBounded: Envoys beyond the most are not kept, counters that restart are no loss, and nonsense is none.
func TestWatchIsBounded(t *testing.T) {
	w := NewWatch(10)
	now := time.Unix(1_700_000_000, 0)
	for i := range 1000 {
		p := pushed{ok: 1}
		w.Add(now, "e", fmt.Sprint(i), p.families("1"))
	}
	if len(w.senders) != 10 || w.dropped != 990 {
		t.Errorf("%d are kept, %d dropped", len(w.senders), w.dropped)
	}
	for _, ok := range []float64{100, 50, -1, 60} {
		p := pushed{ok: ok}
		w.Add(now.Add(time.Second), "e", "0", p.families("1"))
	}
	if _, _, past, _ := w.seen(); past.N[Requests] > 170 || past.N[Requests] < 0 {
		t.Errorf("%g", past.N[Requests])
	}
}
