//go:build e2e && kinds

package suite

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestKinds runs the suite before servers of every kind but vLLM, which TestSuite has: natively, under wazero and on
// Envoy, whole and in single bytes. The client must see what it sees before vLLM, and the server must get the same ids.
// Requests that a kind cannot serve are refused: kind_refusals_test.go. Kinds that answer in text alone do so in two
// forms: with control tokens spelled, and without. SGLang has two forms of streams.
func TestKinds(t *testing.T) {
	for _, kind := range contract.ServerKinds()[1:] {
		if contract.KindNamed(kind).Conversations {
			continue // TestChatServers
		}
		testKind(t, kind, kind, func(c *cases.Case) *cases.Case { return c.On(kind) })
	}
	testKind(t, contract.SGLang+" incremental", contract.SGLang, func(c *cases.Case) *cases.Case {
		return c.On(contract.SGLang).Incremental()
	})
}

// testKind runs the suite before servers of a kind. on returns the case before such a server.
func testKind(t *testing.T, name, kind string, on func(c *cases.Case) *cases.Case) {
	t.Run(name, func(t *testing.T) {
		ran, counts := 0, map[string]int{}
		eachOnStages(t, cases.All(t), func(c *cases.Case, _ string) *cases.Case {
			if unconfigurable(c, kind) {
				return nil
			}
			return on(c)
		}, func(t *testing.T, s *stage, c *cases.Case, mode string) {
			if why := leftOut(t, c, mode, kind); why != "" {
				counts["left out: "+why]++
				return
			}
			places := slices.Concat(s.native, s.wazero[:2], s.envoy)
			if r := refusalOf(t, c, contract.KindNamed(kind)); r != nil {
				counts["refused: "+r.what]++
				r.checkOn(t, places, on(c), kind)
				return
			}
			if why := onlyPrinted(c); why != "" && contract.KindNamed(kind).EstimatesTokens() {
				counts["not without control tokens: "+why]++
			}
			ran++
			runOnPlaces(t, places, on(c), mode, kind)
		})
		t.Logf("%d cases have run; others: %v", ran, counts)
	})
}

// unconfigurable reports whether the control plane refuses a case's settings for servers of a kind.
func unconfigurable(c *cases.Case, kind string) bool {
	return c.Settings["token_ids"] == "true" && !contract.KindNamed(kind).TracesTokens()
}

// leftOut returns the reason why a case is not run before servers of a kind, or an empty string.
func leftOut(t *testing.T, c *cases.Case, mode, kind string) string {
	refused := c.Settings["server_context"] != "" || c.Name == "error_format_server"
	switch {
	case unconfigurable(c, kind):
		return "ids of tokens, which the control plane refuses"
	case (kind == contract.SGLang || kind == contract.TRTLLM || kind == contract.VLLMGenerate) &&
		mode == contract.ModeReduced && refused:
		return "a refusal within a stream, which has begun in reduced mode"
	case kind == contract.Ollama && c.Settings["server_fault"] == "error-200-json":
		return "an error under status 200, of which Ollama's form says no other status"
	case c.Settings["front_end"] != "":
		return "vLLM's front ends"
	case c.Settings["raw_prompts"] == "allow":
		return "raw prompts, whose path is vLLM's"
	}
	facts := contract.KindNamed(kind)
	if !facts.ThinkingBudget && c.Settings["thinking_token_budget"] == "true" {
		return "a limit on reasoning that servers keep, which the gateway keeps instead"
	}
	if facts.TextAnswers {
		if why := untold(c, facts); why != "" {
			return why
		}
	}
	if c.Name == "error_format_server" && !facts.StructuralTags {
		return "a structural tag that servers refuse"
	}
	if facts.HoldsForms() {
		return ""
	}
	sent, _ := beforeVLLM(t, c, "")
	other, _ := beforeVLLM(t, c, contract.NoStructure)
	if sent != nil && other != nil && !bytes.Equal(sentPrompt(t, sent), sentPrompt(t, other)) {
		return "a call that begins in the prompt, which the cases with structured_outputs: none have"
	}
	return ""
}

// untold returns the reason why the answer of a case cannot come as text, or an empty string.
func untold(c *cases.Case, facts *contract.Kind) string {
	switch {
	case strings.Contains(c.Member("want"), "\uFFFD"):
		return "a part of a character, which no text has"
	case facts.EstimatesTokens() && strings.Contains(c.Name, "reasoning_cap"):
		return "a limit on reasoning, whose tokens text only estimates"
	}
	return ""
}

// sentPrompt returns the member of a request that has its prompt.
func sentPrompt(t *testing.T, sent []byte) json.RawMessage {
	t.Helper()
	var request struct{ Prompt json.RawMessage }
	if err := json.Unmarshal(sent, &request); err != nil {
		t.Fatal(err)
	}
	return request.Prompt
}

var message = regexp.MustCompile(`"message":"(?:[^"\\]|\\.)*",`)

// runOnPlaces runs a case before servers of a kind.
func runOnPlaces(t *testing.T, places []*place, c *cases.Case, mode, kind string) {
	t.Helper()
	want := cases.Seen{View: c.Member("want"), Prompt: c.Member("prompt")}
	if mode == contract.ModeReduced {
		want.View, _ = c.ReducedView()
	}
	want.View = strings.ReplaceAll(want.View, "("+contract.VLLM+")", "("+kind+")")
	facts := contract.KindNamed(kind)
	fold := func(view string) string {
		switch {
		case facts.EstimatesTokens():
			view = withoutEstimates(view, c.Body)
		case facts.TextAnswers:
			view = cases.Fold(view)
		}
		if c.Settings["server_context"] != "" {
			// The message is the server's own, and each kind has its words.
			view = message.ReplaceAllString(view, "")
		}
		return view
	}
	if !facts.EstimatesTokens() {
		comparePlaces(t, "exact", runAll(t, c, places, 0), want, fold)
		return
	}
	comparePlaces(t, "printed", runAll(t, c.Printed(), places, 0), want, fold)
	if onlyPrinted(c) == "" {
		comparePlaces(t, "hidden", runAll(t, c, places, 0), want, fold)
	}
}

// comparePlaces holds what was seen in each place against what is wanted. form is the form of the server's answers.
// fold leaves out of a view what may differ. The server must get the same in all places.
func comparePlaces(t *testing.T, form string, got map[*place]cases.Seen, want cases.Seen,
	fold func(view string) string) {
	t.Helper()
	want.View = fold(want.View)
	for on, seen := range got {
		if want.Sent == "" {
			want.Sent = seen.Sent
		}
		seen.View = fold(seen.View)
		cases.Compare(t, form+" "+on.name, seen, want)
	}
}
