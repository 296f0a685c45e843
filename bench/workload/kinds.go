package workload

import (
	"math"
	"math/rand/v2"
	"time"
)

// All returns every workload.
func All(seed uint64, s Scale) []*Workload {
	var all []*Workload
	for i, kind := range kinds {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(i))), length: s.Length}
		n := func(a8ServersMinute float64) int {
			return max(int(math.Round(a8ServersMinute*float64(s.Servers)/8*s.Length.Minutes())), 1)
		}
		all = append(all, &Workload{kind.name, kind.about, kind.make(g, n)})
	}
	return all
}

// manyTenants have more in their system prompts than a server's cache holds beside its running requests.
const manyTenants = 100

var kinds = []struct {
	name, about string
	make        func(g *generator, n func(float64) int) []*Conversation
}{
	{"chats", "people talk for 3 to 8 turns with one assistant, whose system prompt is short", chats},
	{"tenants",
		"100 applications with system prompts of 1,000 to 4,000 tokens, one with a fifth of all requests; 1 to 3 turns",
		tenants},
	{"agents", "agents of 4 kinds with instructions of 2,000 tokens take 8 to 20 steps, each with a tool's result",
		agents},
	{"one tenant", "one application with a system prompt of 4,000 tokens, and questions of one turn", oneTenant},
	{"burst", "the tenants, and at a third of the time 32 new ones that ask 6 times each within a tenth of the time", burst},
}

func chats(g *generator, n func(float64) int) []*Conversation {
	system := words(g.Rand, 60)
	s := shape{turns: [2]int{3, 8}, first: [2]int{50, 800}, later: [2]int{30, 400}, answer: [2]int{100, 300},
		wait: [2]float64{1, 6}}
	var all []*Conversation
	for _, at := range g.spread(n(240), 0, g.length) {
		all = append(all, g.conversation(at, system, s))
	}
	return all
}

// systems returns system prompts of from..to tokens, each of which begins in its own way.
func (g *generator) systems(n, from, to int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = words(g.Rand, g.between(from, to))
	}
	return all
}

var short = shape{turns: [2]int{1, 3}, first: [2]int{30, 300}, later: [2]int{30, 200}, answer: [2]int{100, 300},
	wait: [2]float64{1, 5}}

// popular returns the index of one of n tenants, of which the first is the most popular (Zipf's law).
func (g *generator) popular(n int) int {
	total := 0.0
	for i := range n {
		total += 1 / float64(i+1)
	}
	x := g.Float64() * total
	for i := range n {
		if x -= 1 / float64(i+1); x < 0 {
			return i
		}
	}
	return n - 1
}

func tenants(g *generator, n func(float64) int) []*Conversation {
	systems := g.systems(manyTenants, 1000, 4000)
	var all []*Conversation
	for _, at := range g.spread(n(600), 0, g.length) {
		all = append(all, g.conversation(at, systems[g.popular(len(systems))], short))
	}
	return all
}

func agents(g *generator, n func(float64) int) []*Conversation {
	systems := g.systems(4, 1800, 2200)
	s := shape{turns: [2]int{8, 20}, first: [2]int{50, 300}, later: [2]int{100, 700}, answer: [2]int{40, 120},
		wait: [2]float64{0.1, 1}, tools: true}
	var all []*Conversation
	for _, at := range g.spread(n(110), 0, g.length) {
		all = append(all, g.conversation(at, systems[g.IntN(len(systems))], s))
	}
	return all
}

func oneTenant(g *generator, n func(float64) int) []*Conversation {
	system := words(g.Rand, 4000)
	s := short
	s.turns = [2]int{1, 1}
	var all []*Conversation
	for _, at := range g.spread(n(1200), 0, g.length) {
		all = append(all, g.conversation(at, system, s))
	}
	return all
}

func burst(g *generator, n func(float64) int) []*Conversation {
	systems := g.systems(manyTenants, 1000, 4000)
	var all []*Conversation
	for _, at := range g.spread(n(400), 0, g.length) {
		all = append(all, g.conversation(at, systems[g.popular(len(systems))], short))
	}
	begin := g.length / 3
	for _, system := range g.systems(n(32), 1000, 4000) {
		for _, at := range g.spread(6, begin, begin+g.length/10+time.Millisecond) {
			all = append(all, g.conversation(at, system, short))
		}
	}
	return all
}
