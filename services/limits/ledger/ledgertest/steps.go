package ledgertest

import (
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// steps are the tests of what follows on what.
var steps = []struct {
	name   string
	limits []ledger.Limit
	run    func(r *room)
}{
	{"a reservation and its settlement", []ledger.Limit{tokens(1000, ledger.Minute), requests(3, ledger.Minute)},
		func(r *room) {
			r.want("left", r.granted("a", 400), []int64{600, 2})
			r.settle("a", 150)
			r.want("left", r.granted("b", 100), []int64{750, 1})
			r.wantBook(ledger.Book{Requests: 2, Reserved: 500, Used: 150, Refunded: 250, Open: 100, OpenRequests: 1})
		}},
	{"a retry of either is harmless", []ledger.Limit{tokens(1000, ledger.Minute), requests(3, ledger.Minute)},
		func(r *room) {
			r.granted("a", 400)
			r.want("left", r.granted("a", 400), []int64{600, 2})
			r.settle("a", 150)
			r.settle("a", 150)
			r.settle("a", 999)
			r.want("left", r.granted("a", 400), []int64{850, 2})
			r.wantBook(ledger.Book{Requests: 1, Reserved: 400, Used: 150, Refunded: 250})
		}},
	{"a settlement before its reservation", []ledger.Limit{tokens(1000, ledger.Minute), running(1)}, func(r *room) {
		r.settle("a", 150)
		r.want("left", r.granted("a", 400), []int64{850, 1})
		r.settle("a", 150)
		r.want("left", r.granted("b", 400), []int64{450, 0})
		r.wantBook(ledger.Book{Requests: 1, Reserved: 400, Unreserved: 150, Used: 150, Open: 400, OpenRequests: 1})
	}},
	{"more used than reserved", []ledger.Limit{tokens(1000, ledger.Minute)}, func(r *room) {
		r.granted("a", 400)
		r.settle("a", 900)
		r.want("left", r.granted("b", 100), []int64{0})
		r.wantBook(ledger.Book{Requests: 2, Reserved: 500, Overrun: 500, Used: 900, Open: 100, OpenRequests: 1})
	}},
	{"an unknown use counts as what was reserved", []ledger.Limit{tokens(1000, ledger.Minute), running(1)},
		func(r *room) {
			r.granted("a", 400)
			r.settle("a", ledger.Unknown)
			r.want("left", r.granted("b", 100), []int64{500, 0})
			r.settle("c", ledger.Unknown)
			r.wantBook(ledger.Book{Requests: 2, Reserved: 500, Used: 400, Open: 100, OpenRequests: 1})
		}},
	{"a withdrawn reservation, whose request came through all the same", []ledger.Limit{tokens(1000, ledger.Minute),
		running(1)}, func(r *room) {
		r.granted("a", 400)
		r.withdraw("a")
		r.withdraw("a")
		r.want("left", r.granted("b", 100), []int64{900, 0})
		r.settle("a", 70)
		r.withdraw("a")
		r.wantBook(ledger.Book{Requests: 2, Reserved: 500, Unreserved: 70, Used: 70, Refunded: 400, Open: 100,
			OpenRequests: 1})
	}},
	{"what is not used flows back steadily", []ledger.Limit{tokens(600, ledger.Minute)}, func(r *room) {
		r.granted("a", 600)
		r.wait(15 * time.Second)
		refusal := r.refused("b", 151)
		r.want("used", refusal.Used, 450)
		r.want("wait", refusal.Wait, 100*time.Millisecond)
		r.wait(100 * time.Millisecond)
		r.want("left", r.granted("b", 151), []int64{0})
	}},
	{"reset is until nothing is used", []ledger.Limit{requests(60, ledger.Minute), requests(200, ledger.Day),
		tokens(150000, ledger.Minute)}, func(r *room) {
		a := r.reserve("a", 16)
		r.want("remaining", []int64{a.States[0].Remaining, a.States[1].Remaining, a.States[2].Remaining},
			[]int64{59, 199, 149984})
		r.want("reset", []time.Duration{a.States[0].Reset, a.States[1].Reset, a.States[2].Reset},
			[]time.Duration{time.Second, 7*time.Minute + 12*time.Second, 6400 * time.Microsecond})
	}},
	{"all limits have room, or none is charged", []ledger.Limit{requests(10, ledger.Minute), tokens(1000, ledger.Minute),
		ofModel(tokens(2000, ledger.Day)), running(5), ofModel(running(5))}, func(r *room) {
		r.granted("a", 900)
		refusal := r.refused("b", 200)
		r.want("limit", refusal.Limit, tokens(1000, ledger.Minute))
		r.want("numbers", []int64{refusal.Used, refusal.Requested}, []int64{900, 200})
		r.want("wait", refusal.Wait, 6*time.Second)
		r.want("left", r.granted("a", 900), []int64{9, 100, 1100, 4, 4})
		r.wantBook(ledger.Book{Requests: 1, Refused: 1, Reserved: 900, Open: 900, OpenRequests: 1})
	}},
	{"of several limits that which takes longest", []ledger.Limit{tokens(1000, ledger.Minute),
		tokens(2000, ledger.Day)}, func(r *room) {
		r.granted("a", 1000)
		r.wait(ledger.Minute)
		r.granted("b", 1000)
		r.want("limit", r.refused("c", 500).Limit, tokens(2000, ledger.Day))
	}},
	{"what never fits", []ledger.Limit{tokens(1000, ledger.Minute)}, func(r *room) {
		refusal := r.refused("a", 1001)
		r.want("refusal", refusal, ledger.Refusal{Limit: r.limits[0], Requested: 1001, Never: true})
		r.granted("b", 1000)
	}},
	{"a limit of nothing", []ledger.Limit{tokens(0, ledger.Minute)}, func(r *room) {
		if !r.refused("a", 1).Never {
			r.t.Error("it was let in hope")
		}
		r.settle("a", 5) // the service was not asked
		r.wantBook(ledger.Book{Refused: 1, Unreserved: 5, Used: 5})
	}},
	{"requests at once", []ledger.Limit{running(2), ofModel(running(9))}, func(r *room) {
		r.want("left", r.granted("a", 0), []int64{1, 8})
		r.want("left", r.granted("b", 0), []int64{0, 7})
		r.want("refusal", r.refused("c", 0), ledger.Refusal{Limit: running(2), Used: 2, Requested: 1})
		r.settle("a", 0)
		r.want("left", r.granted("c", 0), []int64{0, 7})
	}},
	{"a reservation that is never settled", []ledger.Limit{running(1), tokens(1000, ledger.Day)}, func(r *room) {
		r.granted("a", 400)
		r.wait(10*time.Minute - time.Second)
		r.refused("b", 10)
		r.wait(2 * time.Second)
		r.granted("b", 10)
		r.wantBook(ledger.Book{Requests: 2, Refused: 1, Reserved: 410, Lost: 400, LostRequests: 1, Open: 10,
			OpenRequests: 1})
		r.settle("a", 150) // late
		r.wantBook(ledger.Book{Requests: 2, Refused: 1, Reserved: 410, Used: 150, Refunded: 250, Open: 10,
			OpenRequests: 1})
		r.want("refusal", r.refused("c", 10).Limit, running(1))
	}},
	{"a refund gives nothing that has flowed back already", []ledger.Limit{tokens(600, ledger.Minute)}, func(r *room) {
		r.granted("long", 600)
		r.wait(ledger.Minute)
		r.granted("b", 500)
		r.settle("long", 100) // its 600 have flowed back; those of b have not
		r.want("left", r.granted("c", 50), []int64{50})
	}},
	{"a refund gives what has not flowed back", []ledger.Limit{tokens(600, ledger.Minute)}, func(r *room) {
		r.granted("a", 300)
		r.granted("b", 300)
		r.wait(40 * time.Second) // 400 have: all of a, 100 of b
		r.settle("b", 0)
		r.want("left", r.granted("c", 0), []int64{600})
		r.settle("a", 0)
		r.want("left", r.granted("d", 600), []int64{0})
	}},
	{"refunds of one do not make those of others larger", []ledger.Limit{tokens(600, ledger.Minute)}, func(r *room) {
		r.granted("a", 200)
		r.granted("b", 200)
		r.granted("c", 200)
		r.settle("a", 0)
		r.wait(15 * time.Second) // 150 flow back, of b
		r.settle("b", 0)         // 50 were left of it
		r.want("left", r.granted("d", 0), []int64{400})
	}},
	{"a bucket that was empty begins anew", []ledger.Limit{tokens(600, ledger.Minute)}, func(r *room) {
		r.granted("a", 600)
		r.granted("x", 0)
		r.settle("x", 0)
		r.wait(2 * ledger.Minute)
		r.granted("b", 600)
		r.settle("b", 300)
		r.settle("a", 0)
		r.want("left", r.granted("c", 0), []int64{300})
	}},
	{"large numbers", []ledger.Limit{tokens(1<<30, ledger.Minute), tokens(1<<40, ledger.Day)}, func(r *room) {
		r.want("left", r.granted("a", 1<<30), []int64{0, 1<<40 - 1<<30})
		r.settle("a", 1)
		r.want("left", r.granted("b", 1<<29), []int64{1<<29 - 1, 1<<40 - 1<<29 - 1})
		r.refused("c", 1<<40)
		r.settle("d", 1<<40)
		r.wantBook(ledger.Book{Requests: 2, Refused: 1, Reserved: 1<<30 + 1<<29, Unreserved: 1 << 40, Used: 1<<40 + 1,
			Refunded: 1<<30 - 1, Open: 1 << 29, OpenRequests: 1})
	}},
}

func testSteps(t *testing.T, open Open) {
	for _, c := range steps {
		t.Run(c.name, func(t *testing.T) {
			r := newRoom(t, open)
			r.t, r.limits = t, c.limits
			c.run(r)
		})
	}
}
