//go:build e2e && kinds

package suite

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestKinds runs the suite before servers of every kind but vLLM, which TestSuite has: natively, under wazero and on
// Envoy, whole and in single bytes. The client must see what it sees before vLLM, and the server must get the same ids.
func TestKinds(t *testing.T) {
	for _, kind := range contract.ServerKinds()[1:] {
		t.Run(kind, func(t *testing.T) {
			ran, left := 0, map[string]int{}
			cases.Each(t, func(t *testing.T, c *cases.Case, mode string) *stage {
				return newStage(t, c.On(kind), mode)
			}, func(t *testing.T, s *stage, c *cases.Case, mode string) {
				if why := leftOut(c, mode, kind); why != "" {
					left[why]++
					return
				}
				ran++
				runOnKind(t, s, c.On(kind), mode, kind)
			})
			t.Logf("%d cases have run; left out: %v", ran, left)
		})
	}
}

// leftOut returns the reason why a case is not run before servers of a kind, or an empty string.
func leftOut(c *cases.Case, mode, kind string) string {
	refused := c.Settings["server_context"] != "" || c.Name == "error_format_server"
	switch {
	case kind == contract.SGLang && mode == contract.ModeReduced && refused:
		return "a refusal within a stream, which has begun in reduced mode"
	case c.Settings["front_end"] != "":
		return "vLLM's front ends"
	case c.Settings["raw_prompts"] == "allow":
		return "raw prompts, whose path is vLLM's"
	}
	return ""
}

var message = regexp.MustCompile(`"message":"[^"]*",`)

func runOnKind(t *testing.T, s *stage, c *cases.Case, mode, kind string) {
	got := runAll(t, c, slices.Concat(s.native, s.wazero[:2], s.envoy), 0)
	native := got[s.native[0]]
	want := cases.Seen{View: c.Member("want"), Prompt: c.Member("prompt"), Sent: native.Sent}
	if mode == contract.ModeReduced {
		want.View, _ = c.ReducedView()
	}
	want.View = strings.ReplaceAll(want.View, "("+contract.VLLM+")", "("+kind+")")
	for on, seen := range got {
		if c.Settings["server_context"] != "" {
			// The message is the server's own, and each kind has its words.
			want.View, seen.View = message.ReplaceAllString(want.View, ""), message.ReplaceAllString(seen.View, "")
		}
		cases.Compare(t, on.name, seen, want)
	}
}
