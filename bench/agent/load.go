package main

import (
	"fmt"

	"github.com/harmonyedge/harmonyedge/e2e/agents"
)

// load is what is sent in a turn of a variant.
type load struct {
	name, about string
	form        agents.Form
	workers     int
	// fresh opens a new connection for each request.
	fresh bool
	// rendered reports whether vLLM's front end renders it too.
	rendered bool
	// plays returns the requests of a round in their order. No load has texts of another.
	plays func(agents.Family, uint64) []string
}

// The loads that targets name.
const (
	kept       = "Responses"
	spread     = "8 workers, a new connection each turn"
	firstTurns = "first turns"
	neverAgain = "never seen again"
)

const (
	// firsts are the first turns in a round, and strangers the conversations that are never seen again.
	firsts, strangers = 20, 5
	// middle is the turn of the latter.
	middle = 20
)

// loads returns all loads.
func loads() []load {
	all := []load{
		{name: kept, workers: 1, about: "a session, its connection kept"},
		{name: spread, workers: manyWorkers, fresh: true, about: "a session by Responses, each turn on a worker by chance"},
		{name: "8 workers", workers: manyWorkers, about: "a session by Responses, its connection kept, and so its worker"},
		{name: agents.Sealed.String(), workers: 1, form: agents.Sealed, about: "the same with sealed reasoning"},
		{name: agents.Found.String(), workers: 1, form: agents.Found,
			about: "the same, as Codex has it where the model searches for tools"},
		{name: agents.Lite.String(), workers: 1, form: agents.Lite,
			about: "the same, as Codex has it with all tools in the conversation"},
		{name: agents.Chat.String(), workers: 1, form: agents.Chat, rendered: true, about: "the same by Chat"},
		{name: agents.Messages.String(), workers: 1, form: agents.Messages, about: "the same by Anthropic's API"},
	}
	for i := range all {
		form := all[i].form
		all[i].plays = func(f agents.Family, seed uint64) []string {
			var turns []string
			bodies := agents.New(f, seed<<16+uint64(i)).Bodies(form, model)
			for turn := 1; turn <= agents.Turns; turn++ {
				turns = append(turns, bodies.Turn(turn))
			}
			return turns
		}
	}
	single := func(n, turn int, family func(agents.Family, int) agents.Family) func(agents.Family, uint64) []string {
		return func(f agents.Family, seed uint64) []string {
			var turns []string
			for i := range n {
				s := agents.New(family(f, i), seed<<16+uint64(turn)<<8+uint64(i))
				turns = append(turns, s.Bodies(agents.Responses, model).Turn(turn))
			}
			return turns
		}
	}
	same := func(f agents.Family, _ int) agents.Family { return f }
	return append(all,
		load{name: firstTurns, workers: 1, plays: single(firsts, 1, same),
			about: fmt.Sprintf("%d sessions of an agent begin", firsts)},
		load{name: neverAgain, workers: 1, plays: single(strangers, middle, same),
			about: fmt.Sprintf("turn %d of %d sessions of an agent, and no other turn", middle, strangers)},
		load{name: "nothing known", workers: 1,
			plays: single(strangers, middle, func(f agents.Family, i int) agents.Family { return f + agents.Family(i) + 1 }),
			about: fmt.Sprintf("the same of %d agents, each with its own instructions and tools", strangers)})
}
