//go:build e2e

package instructions

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/harmonyedge/harmonyedge/e2e/agents"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/filter/filtertest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// shortSession is how many turns of an agent's session are counted by every test.
const shortSession = 10

// sessionContext is the context of a model that takes a whole session.
const sessionContext = 262_144

// sessionForms are those that the gateway serves.
var sessionForms = []agents.Form{agents.Responses, agents.Sealed, agents.Chat}

// sessions returns the loads of agents' sessions: a part of one in each form, and the whole.
func sessions() []load {
	var all []load
	add := func(name string, whole bool, run func(*gateway)) {
		all = append(all, load{name: name, kind: contract.VLLM, times: 1, run: run, session: true, whole: whole})
	}
	for _, turns := range []int{shortSession, agents.Turns} {
		for _, form := range sessionForms {
			add(fmt.Sprintf("an agent's session, %s, %d turns: until each is sent", form, turns), turns == agents.Turns,
				session(form, 1, turns))
		}
	}
	for _, form := range sessionForms {
		add(fmt.Sprintf("an agent's turn %d, %s: until it is sent", agents.Turns, form), true,
			session(form, agents.Turns, agents.Turns))
	}
	return all
}

// session counts the requests of a session from a turn to another. Those before them are sent too. A whole session is
// one that nothing is tuned on.
func session(form agents.Form, from, to int) func(*gateway) {
	return func(g *gateway) {
		answer := g.pieces(g.request(chat, shortAnswer, true, false))
		family := agents.Tuning
		if to == agents.Turns {
			family = agents.HoldOut
		}
		bodies := agents.New(family, 1).Bodies(form, lab.Model)
		for turn := 1; turn <= to; turn++ {
			body := bodies.Turn(turn)
			var x *filtertest.Exchange
			g.countIf(turn >= from, func() {
				x = g.host.Request(http.MethodPost, form.Path(), body, "content-type", "application/json",
					"accept", "text/event-stream", "authorization", "Bearer key", "user-agent", "codex_exec/0.171.0")
			})
			if x.Server().State == filtertest.Nothing {
				g.t.Fatalf("turn %d has not reached the server: %+v", turn, x.Client())
			}
			x.BeginResponse(http.StatusOK, "content-type", g.kind.StreamType())
			x.EndResponse(answer...)
			if !x.Done() || !strings.Contains(x.Client().Body(), "inhabitants") {
				g.t.Fatalf("turn %d: the client has got %+v", turn, x.Client())
			}
		}
	}
}
