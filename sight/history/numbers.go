package history

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// What numbers are of.
const (
	OfServer = "server"
	OfPool   = "pool"
	OfModel  = "model"
	OfClient = "client"
)

const (
	// kept is how many minutes are kept, the present one included.
	kept = 60
	// maxNumbers is how many servers have numbers, and as many pools, models and clients together. A row takes 10 KB.
	maxNumbers = 1000
)

// The counters of a row.
const (
	requests = iota
	failures5xx
	limited
	tokensIn
	tokensOut
	missedTokens
	firstTokens
	firstTokenMS
	counts
)

// gauges are the numbers that a server tells of itself.
const (
	running = iota
	waiting
	cache
	gauges
)

// minute is what a minute has brought.
type minute struct {
	number int64
	counts [counts]float64
	sums   [gauges]float64
	most   [gauges]float64
	read   [gauges]float64 // how often a gauge was read
}

// row is what is kept of one server, pool, model or client.
type row struct {
	of, name, pool string
	has            [counts]bool // the counters that it has
	minutes        [kept]minute
	newest         int64
	// told are the counters that a server told last.
	told [2]float64
	seen bool // told was set
}

func (r *row) at(number int64) *minute {
	m := &r.minutes[number%kept]
	if m.number != number {
		*m = minute{number: number}
	}
	r.newest = max(r.newest, number)
	return m
}

// rows are all rows.
type rows struct {
	all map[string]*row
	// known has the minutes in which anything came, each at its number modulo kept.
	known [kept]int64
	// servers is how many of them are of servers.
	servers int
}

// find returns a row. It makes one if there is room, and else returns nil.
func (n *rows) find(of, pool, name string, now int64) *row {
	key := rowKey(of, pool, name)
	if r := n.all[key]; r != nil {
		return r
	}
	if n.full(of) {
		n.forget(now)
		if n.full(of) {
			return nil
		}
	}
	if n.all == nil {
		n.all = map[string]*row{}
	}
	r := &row{of: of, name: name, pool: pool, newest: now}
	n.all[key] = r
	if of == OfServer {
		n.servers++
	}
	return r
}

func (n *rows) full(of string) bool {
	if of == OfServer {
		return n.servers >= maxNumbers
	}
	return len(n.all)-n.servers >= maxNumbers
}

// forget drops the rows of which nothing came for an hour.
func (n *rows) forget(now int64) {
	for key, r := range n.all {
		if r.newest <= now-kept {
			delete(n.all, key)
			if r.of == OfServer {
				n.servers--
			}
		}
	}
}

// note notes that something came, and returns the minute.
func (n *rows) note(at time.Time) int64 {
	minute := minuteOf(at)
	n.known[minute%kept] = max(n.known[minute%kept], minute)
	return minute
}

func minuteOf(t time.Time) int64 { return max(t.Unix()/60, 0) }

// counted is what an Envoy has counted of one pool, model or client since its start. A negative number is not known.
type counted [counts]float64

type countedOf struct{ of, name string }

// maxCounted is how many of them one Envoy may have. With the most models, pools and clients it has 159.
const maxCounted = 200

// countNumbers adds what a metric of an Envoy counts for a model, a pool or a client. It reports false if there is no
// room.
func countNumbers(all map[countedOf]*counted, name string, s *Sample) bool {
	ok := true
	one := func(of, who string, which int) {
		if who == "" || len(who) > 256 || !(s.Value >= 0 && s.Value <= most) {
			return
		}
		c := all[countedOf{of, who}]
		if c == nil {
			if len(all) >= maxCounted {
				ok = false
				return
			}
			c = &counted{}
			for i := range c {
				c[i] = -1
			}
			all[countedOf{of, who}] = c
		}
		c[which] = max(c[which], 0) + s.Value
	}
	switch l := s.Labels; name {
	case contract.RequestsTotal.Info().Name:
		one(OfModel, l["model"], requests)
		switch {
		case statusClass(l["status"]) == "5xx":
			one(OfModel, l["model"], failures5xx)
		case l["status"] == "429":
			one(OfModel, l["model"], limited)
		}
	case contract.TokensTotal.Info().Name:
		switch l["kind"] {
		case "prompt":
			one(OfModel, l["model"], tokensIn)
		case "reasoning", "preamble", "final", "tool_call":
			one(OfModel, l["model"], tokensOut)
		}
	case contract.PoolRequestsTotal.Info().Name:
		one(OfPool, l["pool"], requests)
		if l["class"] == "5xx" {
			one(OfPool, l["pool"], failures5xx)
		}
	case contract.ClientRequestsTotal.Info().Name:
		one(OfClient, l["client"], requests)
		switch l["class"] {
		case "limited":
			one(OfClient, l["client"], limited)
		case other:
			one(OfClient, l["client"], failures5xx)
		}
	case contract.MissedTokensTotal.Info().Name:
		one(OfModel, l["model"], missedTokens)
	case contract.ClientMissedTokensTotal.Info().Name:
		one(OfClient, l["client"], missedTokens)
	case contract.ClientTokensTotal.Info().Name:
		one(OfClient, l["client"], tokensOut)
	}
	return ok
}

// addNumbers adds what an Envoy has counted since its last reading, and keeps the reading. first reports whether it is
// the first one, with which nothing is gained.
func (h *History) addNumbers(s *sender, at time.Time, all map[countedOf]*counted, first bool) {
	now, before := h.rows.note(at), s.numbers
	s.numbers = make(map[*row]*counted, len(all))
	for of, c := range all {
		r := h.rows.find(of.of, "", of.name, now)
		if r == nil {
			h.dropped++
			continue
		}
		s.numbers[r] = c
		was := before[r]
		for i, n := range c {
			if n < 0 {
				continue
			}
			r.has[i] = true
			if was != nil && was[i] > 0 && n >= was[i] { // else it was started again, or has begun to count
				n -= was[i]
			}
			if !first {
				r.at(now).counts[i] += n
			}
		}
	}
}

// ServerReading is what a server tells of itself. What it does not tell is negative.
type ServerReading struct {
	// Running and Waiting are requests, and Cache is the part of the KV cache that is used.
	Running, Waiting, Cache float64
	// FirstTokens are how many requests have had a first token since the server's start, and FirstTokenMS how many
	// milliseconds that took all of them together.
	FirstTokens, FirstTokenMS float64
}

// SetServer records what a server of a pool tells.
func (h *History) SetServer(at time.Time, pool, address string, s ServerReading) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.rows.note(at)
	r := h.rows.find(OfServer, pool, address, now)
	if r == nil {
		h.dropped++
		return
	}
	m := r.at(now)
	for i, v := range [gauges]float64{running: s.Running, waiting: s.Waiting, cache: s.Cache} {
		if v >= 0 && v <= most {
			m.sums[i] += v
			m.most[i] = max(m.most[i], v)
			m.read[i]++
		}
	}
	if !(s.FirstTokens >= 0 && s.FirstTokenMS >= 0) {
		return
	}
	r.has[firstTokens], r.has[firstTokenMS] = true, true
	if n, ms := s.FirstTokens-r.told[0], s.FirstTokenMS-r.told[1]; r.seen && n >= 0 && ms >= 0 { // else it was restarted
		m.counts[firstTokens] += n
		m.counts[firstTokenMS] += ms
	}
	r.told, r.seen = [2]float64{s.FirstTokens, s.FirstTokenMS}, true
}

// AddServer adds requests that an Envoy has had answered by a server of a pool, and how many of them failed. It does
// nothing for a server that [History.SetServer] does not know: an Envoy makes no rows.
func (h *History) AddServer(at time.Time, pool, address string, answered, failed float64) {
	if !(answered >= 0 && answered <= most && failed >= 0 && failed <= answered) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rows.all[rowKey(OfServer, pool, address)]
	if r == nil {
		return
	}
	m := r.at(minuteOf(at))
	r.has[requests] = true
	m.counts[requests] += answered
	m.counts[failures5xx] += failed
}

func rowKey(of, pool, name string) string { return of + "\x00" + pool + "\x00" + name }

// Numbers are what a server, a pool, a model or a client has had within a while. What is not known is nil.
type Numbers struct {
	Of   string `json:"of"`
	Name string `json:"name"`
	// Pool is the pool of a server.
	Pool string `json:"pool,omitempty"`
	// Requests ended. Errors are those with a status of 5xx; of a client all but 2xx and 429; of a server also attempts that
	// were cut. Limited are those with 429.
	Requests *float64 `json:"requests,omitempty"`
	Errors   *float64 `json:"errors,omitempty"`
	Limited  *float64 `json:"limited,omitempty"`
	// TokensIn are of prompts, and TokensOut of answers; of a client both together are TokensOut.
	TokensIn  *float64 `json:"tokens_in,omitempty"`
	TokensOut *float64 `json:"tokens_out,omitempty"`
	// MissedTokens were computed again, since servers' caches did not have them.
	MissedTokens *float64 `json:"missed_tokens,omitempty"`
	// FirstTokenMS is the mean time to the first token of FirstTokens requests, as the server tells it.
	FirstTokenMS *float64 `json:"first_token_ms,omitempty"`
	FirstTokens  *float64 `json:"first_tokens,omitempty"`
	// Running, Waiting and Cache are means, and the others the greatest values.
	Running     *float64 `json:"running,omitempty"`
	RunningMost *float64 `json:"running_most,omitempty"`
	Waiting     *float64 `json:"waiting,omitempty"`
	WaitingMost *float64 `json:"waiting_most,omitempty"`
	Cache       *float64 `json:"cache,omitempty"`
	CacheMost   *float64 `json:"cache_most,omitempty"`
}

// Window is what all rows have had within a while.
type Window struct {
	// Minutes is the length of the window. In Known of them something came, first in the one that began at Since, in
	// seconds since 1970. Since is 0 if nothing came.
	Minutes int       `json:"minutes"`
	Known   int       `json:"known"`
	Since   int64     `json:"since"`
	Rows    []Numbers `json:"rows"`
}

// Window returns the numbers of the last minutes, the present one included, at most an hour. Rows of which nothing came
// in that time are missing.
func (h *History) Window(minutes int) Window {
	w := Window{Minutes: min(max(minutes, 1), kept)}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := minuteOf(h.now())
	for number := now; number > now-int64(w.Minutes) && number > 0; number-- {
		if h.rows.known[number%kept] == number {
			w.Known++
			w.Since = 60 * number
		}
	}
	w.Rows = h.numbers(now, int64(w.Minutes))
	return w
}

// numbers returns the numbers of the last minutes.
func (h *History) numbers(now, minutes int64) []Numbers {
	h.rows.forget(now)
	all := []Numbers{}
	for _, key := range slices.Sorted(maps.Keys(h.rows.all)) {
		if r := h.rows.all[key]; r.newest > now-minutes {
			all = append(all, r.sum(now, minutes))
		}
	}
	slices.SortStableFunc(all, func(a, b Numbers) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// sum adds up the minutes of a row.
func (r *row) sum(now, minutes int64) Numbers {
	var s minute
	for i := range r.minutes {
		m := &r.minutes[i]
		if m.number <= now-minutes || m.number > now {
			continue
		}
		for j := range s.counts {
			s.counts[j] += m.counts[j]
		}
		for j := range s.sums {
			s.sums[j] += m.sums[j]
			s.read[j] += m.read[j]
			s.most[j] = max(s.most[j], m.most[j])
		}
	}
	n := Numbers{Of: r.of, Name: r.name, Pool: r.pool}
	for which, to := range [counts]**float64{requests: &n.Requests, failures5xx: &n.Errors, limited: &n.Limited,
		tokensIn: &n.TokensIn, tokensOut: &n.TokensOut, missedTokens: &n.MissedTokens} {
		if to != nil && (r.has[which] || r.has[requests] && (which == failures5xx || which == limited && r.of != OfPool && r.of != OfServer)) {
			*to = significantly(s.counts[which])
		}
	}
	if s.counts[firstTokens] > 0 {
		n.FirstTokenMS = significantly(s.counts[firstTokenMS] / s.counts[firstTokens])
		n.FirstTokens = significantly(s.counts[firstTokens])
	}
	for i, to := range [gauges][2]**float64{running: {&n.Running, &n.RunningMost}, waiting: {&n.Waiting, &n.WaitingMost},
		cache: {&n.Cache, &n.CacheMost}} {
		if s.read[i] > 0 {
			*to[0], *to[1] = significantly(s.sums[i]/s.read[i]), significantly(s.most[i])
		}
	}
	return n
}

// significantly returns a number that was rounded to a thousandth.
func significantly(v float64) *float64 {
	v = math.Round(v*1000) / 1000
	return &v
}
