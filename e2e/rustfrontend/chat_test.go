//go:build rustfrontend

package rustfrontend_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// chatPlaces are two gateways whose model speaks chat: one before vLLM's Rust front end, the other before the simulated server.
type chatPlaces struct {
	rust      *hosts.Host
	simulated *hosts.Host
	place     cases.Place
}

// TestRustFrontEndChat runs the Responses cases of the suite before the conversations of vLLM's real Rust front end,
// on Envoy with the filter that ships. The front end renders the prompts and parses the answers itself. Clients must
// see what they see before the simulated server, whose parser is written after vLLM's.
func TestRustFrontEndChat(t *testing.T) {
	p := runFrontEnd(t, 0)
	ran, left := 0, map[string]int{}
	cases.EachIn(t, contract.ModeFull, func(t *testing.T, c *cases.Case, mode string) *chatPlaces {
		c = onRustChat(c)
		s := &chatPlaces{}
		config, err := c.Config(p.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if s.rust, err = hosts.Native(hosts.Setup{Config: config}); err != nil {
			t.Fatal(err)
		}
		if config, err = c.Config(s.place.Serve(t)); err != nil {
			t.Fatal(err)
		}
		if s.simulated, err = hosts.Native(hosts.Setup{Config: config}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.simulated.Stop)
		return s
	}, func(t *testing.T, s *chatPlaces, c *cases.Case, _ string) {
		if why := notOfRustChat(c); why != "" {
			left[why]++
			return
		}
		ran++
		c = onRustChat(c)
		got := runBehindRust(t, p, s.rust, c)
		want, err := s.place.Run(c, s.simulated.URL, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := cases.LikeChat(got.View), cases.LikeChat(want.View); got != want {
			t.Errorf("the client sees\n%s\nwant\n%s", got, want)
		}
		if err := p.server.Failed(); err != nil {
			t.Fatalf("the engine: %v", err)
		}
	})
	t.Logf("%d cases have run; left out: %v", ran, left)
	if ran < 100 {
		t.Errorf("only %d cases have run", ran)
	}
}

// onRustChat returns the case before the front end's conversations, whose reasoning is in the member reasoning.
func onRustChat(c *cases.Case) *cases.Case {
	c = c.On(contract.Chat).Formed(sim.ChatReasoning, true)
	c.Settings["reasoning_history"] = contract.ReasoningOnly
	return c
}

// notOfRustChat says why a case is not run before the front end's conversations; empty for all others.
func notOfRustChat(c *cases.Case) string {
	switch why := notOfRustFrontEnd(c); {
	case why != "":
		return why
	case c.API() != "responses":
		return "requests that are passed on"
	case c.Settings["context_length"] != "":
		return "the length of the prompt, which the gateway does not know"
	}
	return ""
}

var (
	_ = http.StatusOK
	_ = strings.Cut
	_ atomic.Bool
	_ time.Time
	_ = lab.Model
)
