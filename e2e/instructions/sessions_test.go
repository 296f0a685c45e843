//go:build e2e

package instructions

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

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
var sessionForms = []agents.Form{agents.Responses, agents.Sealed, agents.Found, agents.Lite, agents.Chat,
	agents.Messages}

// sessions returns the loads of agents' sessions: a part of one in each form, and the whole.
func sessions() []load {
	var all []load
	add := func(name string, whole bool, run func(*gateway)) {
		l := load{name: name, kind: contract.VLLM, times: 1, run: run, session: true, whole: whole}
		all = append(all, l)
		l.name, l.remembers = name+", remembered", true
		all = append(all, l)
	}
	for _, form := range []agents.Form{agents.Responses, agents.Chat} {
		for _, turn := range []int{1, shortSession} {
			add(fmt.Sprintf("an agent's turn %d, %s, of a session that is new: until it is sent", turn, form), false,
				newcomer(form, turn))
		}
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

// newcomer counts a turn of a session of which nothing was sent before. Another session has the same instructions and
// tools.
func newcomer(form agents.Form, turn int) func(*gateway) {
	return func(g *gateway) {
		for _, seed := range []uint64{2, 1} {
			body := agents.New(agents.Tuning, seed).Bodies(form, lab.Model).Turn(turn)
			g.countIf(seed == 1, func() { g.sendTurn(form, body) })
		}
	}
}

// sendTurn sends a request of an agent, which must reach the server.
func (g *gateway) sendTurn(form agents.Form, body string) *filtertest.Exchange {
	g.t.Helper()
	x := g.host.Request(http.MethodPost, form.Path(), body, "content-type", "application/json",
		"accept", "text/event-stream", "authorization", "Bearer key", "user-agent", "codex_exec/0.171.0")
	if x.Server().State == filtertest.Nothing {
		g.t.Fatalf("a turn has not reached the server: %+v", x.Client())
	}
	return x
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
			g.countIf(turn >= from, func() { x = g.sendTurn(form, body) })
			x.BeginResponse(http.StatusOK, "content-type", g.kind.StreamType())
			x.EndResponse(answer...)
			if !x.Done() || !strings.Contains(x.Client().Body(), "inhabitants") {
				g.t.Fatalf("turn %d: the client has got %+v", turn, x.Client())
			}
		}
	}
}

// TestSessionsAreExact: what the filter sends for the turns of two sessions is the same with a memory of prefixes.
func TestSessionsAreExact(t *testing.T) {
	for _, form := range sessionForms {
		t.Run(form.String(), func(t *testing.T) {
			t.Parallel()
			model := fmt.Sprintf(`"models":[{"name":%q,"server":%q,"context_length":%d}]}`, lab.Model, contract.VLLM,
				sessionContext)
			keys := filtertest.Environment(map[string]string{contract.SealKeysVariable: agents.SealKeys})
			wasm := lab.Tool(t, "HARMONY_WASM")
			without := filtertest.New(t, wasm, `{"schema":1,"prefix_memory":0,`+model, keys)
			with := filtertest.New(t, wasm, `{"schema":1,"prefix_memory":4194304,`+model, keys)
			sent := func(host *filtertest.Host, body string) string {
				x := host.Request(http.MethodPost, form.Path(), body, "content-type", "application/json")
				sent := x.Server().Body()
				x.BeginResponse(http.StatusInternalServerError, "content-type", "application/json")
				x.EndResponse(`{}`)
				return sent
			}
			sessions := []*agents.Bodies{agents.New(agents.Tuning, 1).Bodies(form, lab.Model),
				agents.New(agents.Tuning, 2).Bodies(form, lab.Model)}
			for turn := 1; turn <= 2*shortSession; turn++ {
				for i := range sessions {
					body := sessions[i].Turn(turn)
					want, got := sent(without, body), sent(with, body)
					if got != want || !strings.Contains(want, `"prompt":[200006,`) {
						t.Fatalf("turn %d of session %d: sent %.300s\nwant %.300s", turn, i, got, want)
					}
				}
			}
			hits, turns := with.Metrics()["harmony_prefix_requests_total.kind.hit"], uint64(4*shortSession)
			misses := uint64(2)
			if form == agents.Lite {
				misses += 2 // the effort changes
			}
			if hits < turns-misses {
				t.Errorf("%d of %d turns were recalled", hits, turns)
			}
			if n := without.Metrics()["harmony_prefix_requests_total.kind.hit"]; n > 0 {
				t.Errorf("%d turns were recalled without a memory", n)
			}
		})
	}
}
