//go:build rustfrontend

package rustfrontend_test

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// chatPlaces are gateways whose model is behind conversations: one before vLLM's Rust front end, on Envoy, and one
// before the simulated server.
type chatPlaces struct {
	rust, simulated *hosts.Host
	place           cases.Place
}

// TestRustFrontEndChat runs the Responses cases of the suite before the conversations of vLLM's real Rust front end, on
// Envoy with the filter that ships. The front end renders the prompts and reads the answers itself. Clients must see
// what they see before the simulated server.
func TestRustFrontEndChat(t *testing.T) {
	p := runFrontEnd(t, 0)
	ran, left := 0, map[string]int{}
	cases.EachIn(t, contract.ModeFull, func(t *testing.T, c *cases.Case, mode string) *chatPlaces {
		c, s := onRustChat(c), &chatPlaces{}
		config, err := c.Config(p.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := config.Resolve(); err != nil {
			return s // settings of Harmony, which the control plane refuses
		}
		s.rust = lab.RunEnvoy(t, config)
		if config, err = c.Config(s.place.Serve(t)); err != nil {
			t.Fatal(err)
		}
		if s.simulated, err = hosts.Native(hosts.Setup{Config: config}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.simulated.Stop)
		return s
	}, func(t *testing.T, s *chatPlaces, c *cases.Case, _ string) {
		why := notOfRustChat(c)
		if why == "" && s.rust == nil {
			why = "settings of Harmony"
		}
		if why != "" {
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
	if ran < 90 {
		t.Errorf("only %d cases have run", ran)
	}
}

// onRustChat returns the case before the front end's conversations, whose reasoning is in the member reasoning.
func onRustChat(c *cases.Case) *cases.Case {
	c = c.On(contract.Chat).Formed(sim.ChatReasoning, true)
	c.Settings["reasoning_history"] = contract.ReasoningOnly
	return c
}

// notOfRustChat returns the reason why a case is not run before the front end's conversations, or an empty string.
func notOfRustChat(c *cases.Case) string {
	switch why := notOfRustFrontEnd(c); {
	case why != "":
		return why
	case c.API() != "responses":
		return "Chat requests, which pass on"
	case c.Settings["context_length"] != "":
		return "the length of the prompt, which the gateway does not know"
	case strings.Contains(c.Name, "_prefilled"):
		return "a call that begins in the prompt"
	}
	return rustChatExceptions[c.Name]
}

// rustChatExceptions are the cases of which the front end makes something else than the simulated server, which reads
// answers as vLLM's Python front end does.
var rustChatExceptions = map[string]string{
	"responses_call_without_json":           rustFails,
	"responses_doubled_end":                 rustFails,
	"responses_doubled_header":              rustFails,
	"responses_no_header":                   rustFails,
	"responses_token_ids_no_item_stream":    rustFails,
	"responses_token_ids_ended_item_stream": rustFails,
	"responses_empty_arguments_stream":      "a call without arguments, which it loses",
	"responses_own_choice":                  rustDrops,
	"responses_own_length":                  rustDrops,
	"responses_own_stream":                  rustDrops,
	"responses_own_whole":                   rustDrops,
	"responses_two_finals":                  "a line end between two texts of a stream, which it adds",
	"responses_logprobs_length":             "a part of a character at the end, which it shows",
	"responses_dropped_content":             "a part of a message that it does not know",
	"error_responses_own_choice":            "a tool_choice, of which the engine does not know",
}

const (
	rustFails = "an answer that its parser refuses, see TestRustFrontEndChatErrors"
	rustDrops = "a call of a tool whose recipient is no function, which it drops"
)
