//go:build e2e && kinds

package suite

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestChatServers runs the suite before servers that take conversations: natively, under wazero and on Envoy, whole and
// in single bytes, where the server separates reasoning, and where it sends all text as the model writes it. Clients
// and servers must get the same on all hosts. Of Responses clients get what they get before vLLM, or what the case
// wants.
func TestChatServers(t *testing.T) {
	ran, counts := 0, map[string]int{}
	eachOnStages(t, cases.All(t), func(c *cases.Case) *cases.Case {
		c = c.On(contract.Chat)
		config, err := c.Config("http://127.0.0.1:9") // never reached
		if err != nil {
			t.Fatal(err)
		}
		if config.Validate() != nil {
			return nil
		}
		return c
	}, func(t *testing.T, s *stage, c *cases.Case, mode string) {
		if s == nil {
			counts["settings that such servers do not have"]++
			return
		}
		places := slices.Concat(s.native, s.wazero[:2], s.envoy)
		for _, form := range []string{sim.ChatReasoningContent, sim.ChatHarmony} {
			why := notOnChatServers(c, form)
			if c.API() == "" || c.Settings["raw_prompts"] == "allow" || why == halved {
				counts[why]++
				continue
			}
			got := runAll(t, c.On(contract.Chat).Formed(form, false), places, 0)
			native := got[s.native[0]]
			for on, seen := range got {
				cases.Compare(t, form+" "+on.name, seen, native)
			}
			ran++
			if why != "" || c.API() == "chat" {
				counts[why]++
				continue
			}
			if want, _ := c.ReducedView(); mode == contract.ModeReduced && want != c.Member("want") {
				continue // headers that are sent before the error is known
			}
			t.Run(form, func(t *testing.T) { compareChat(t, c, native.View) })
		}
	})
	t.Logf("%d runs; not compared with vLLM's: %v", ran, counts)
	if ran == 0 {
		t.Fatal("nothing has run")
	}
}
