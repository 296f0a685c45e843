package workload

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// The groups of clients of [Overload].
const (
	Agents = "agents"
	Chats  = "chats"
	Noisy  = "noisy"
	Burst  = "burst"
)

// The numbers of clients of the quiet groups, and how many requests a second each of them sends with [OverloadScale] 1.
// The noisy one sends noisyTimes as many.
const (
	quietClients = 3
	quietRate    = 1
	noisyTimes   = 10
)

// OverloadScale is how much [Overload] has.
type OverloadScale struct {
	// Load multiplies the rates of all requests, and Burst the rate of the burst, which is the noisy client's with 1.
	Load, Burst float64
	// Length is how long conversations begin. The burst is a sixth of it, and begins after a third.
	Length time.Duration
}

var (
	agentShape = shape{turns: [2]int{8, 16}, first: [2]int{50, 300}, later: [2]int{100, 700}, answer: [2]int{40, 120},
		wait: [2]float64{0.2, 0.8}, tools: true}
	chatShape = shape{turns: [2]int{3, 8}, first: [2]int{50, 800}, later: [2]int{30, 400}, answer: [2]int{60, 180},
		wait: [2]float64{1, 4}}
	jobShape = shape{turns: [2]int{1, 1}, first: [2]int{200, 1200}, answer: [2]int{50, 150}}
)

// Overload returns what more clients want than a pool can do: teams of agents whose prompts grow, applications with
// which people chat, a client with ten times as many requests as each of these, and a burst of one more.
func Overload(seed uint64, s OverloadScale) *Workload {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 100)), length: s.Length}
	w := &Workload{Name: "overload", About: "three teams of agents and three applications with chats send as many " +
		"requests each, one client sends ten times as many, and one more sends a burst"}
	for i := range quietClients {
		g.client(w, Agents, i, 2000, agentShape, s.Load*quietRate)
		g.client(w, Chats, i, 300, chatShape, s.Load*quietRate)
	}
	g.jobs(w, Noisy, s.Load*quietRate*noisyTimes, 0, s.Length)
	begin := s.Length / 3
	g.jobs(w, Burst, s.Load*quietRate*noisyTimes*s.Burst, begin, begin+s.Length/6)
	slices.SortStableFunc(w.Conversations, func(a, b *Conversation) int { return int(a.Start - b.Start) })
	return w
}

// client adds the conversations of a quiet client. Half of them begin in the first quarter, so that the load is the
// same for most of the time.
func (g *generator) client(w *Workload, group string, number, system int, s shape, rate float64) {
	text := words(g.Rand, system)
	left := max(int(rate*g.length.Seconds()), 1)
	for i := 0; left > 0; i++ {
		at := time.Duration(g.Int64N(int64(g.length / 4)))
		if i%2 == 1 {
			at += g.length/4 + time.Duration(g.Int64N(int64(g.length/2)))
		}
		c := g.conversation(at, text, s)
		c.Turns = c.Turns[:min(len(c.Turns), left)]
		c.Client, c.Group = group+"-"+strconv.Itoa(number+1), group
		left -= len(c.Turns)
		w.Conversations = append(w.Conversations, c)
	}
}

// jobs adds the requests of a client that waits for no answer before the next one.
func (g *generator) jobs(w *Workload, group string, rate float64, from, to time.Duration) {
	text := words(g.Rand, 300)
	for _, at := range g.spread(int(rate*(to-from).Seconds()), from, to) {
		c := g.conversation(at, text, jobShape)
		c.Client, c.Group = group, group
		w.Conversations = append(w.Conversations, c)
	}
}

// Without returns the workload without some groups.
func (w *Workload) Without(groups ...string) *Workload {
	left := *w
	left.Conversations = slices.DeleteFunc(slices.Clone(w.Conversations), func(c *Conversation) bool {
		return slices.Contains(groups, c.Group)
	})
	return &left
}
