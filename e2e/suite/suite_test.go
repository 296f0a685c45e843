//go:build e2e

package suite

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// runAll runs a case in all places at once: a case whose server falls silent takes its time.
func runAll(t *testing.T, c *cases.Case, places []*place, tokens int) map[*place]cases.Seen {
	t.Helper()
	results, failures := make([]cases.Seen, len(places)), make([]error, len(places))
	var all sync.WaitGroup
	for i, p := range places {
		all.Go(func() { results[i], failures[i] = p.run(c, tokens) })
	}
	all.Wait()
	out := map[*place]cases.Seen{}
	for i, p := range places {
		if failures[i] != nil {
			t.Fatalf("%s: %v", p.name, failures[i])
		}
		out[p] = results[i]
	}
	return out
}

// TestSuite runs every case natively, under wazero and on Envoy with the filter that ships, in both modes, each also
// with the server's stream in single bytes, and under wazero at the places in cuts.txt. The client's view and the
// server's request must be the same everywhere, and as the case says.
func TestSuite(t *testing.T) {
	table := &suiteTable{schemas: grammar.LoadSchemas(t), traced: grammar.LoadTracedSchemas(t)}
	eachOnStages(t, cases.All(t), asItIs, func(t *testing.T, s *stage, c *cases.Case, mode string) {
		runCase(t, s, c, mode, table)
	})
	t.Logf("%d answers, chunks and events are as OpenAI's schemas say", table.checked)
	table.write(t)
	t.Run("prompts equal the reference's", table.askReference)
}

// runCase holds every place of a stage against what the case says.
func runCase(t *testing.T, s *stage, c *cases.Case, mode string, table *suiteTable) {
	got := runAll(t, c, slices.Concat(s.native, s.wazero, s.envoy), 0)
	native, bytewise := got[s.native[0]], got[s.native[1]]
	want := cases.Seen{View: c.Member("want"), Prompt: c.Member("prompt"), Sent: native.Sent}
	if c.IsAboutSent() {
		want.Sent = c.Member("sent")
	}
	if mode == contract.ModeReduced {
		want.View = reducedView(t, c, native)
	} else if *lab.Update {
		if err := c.Update(native); err != nil {
			t.Fatal(err)
		}
		want = native
	}
	cases.Compare(t, "native", native, want)
	cases.Compare(t, s.native[1].name, bytewise, native)
	for _, on := range slices.Concat(s.wazero, s.envoy) {
		cases.Compare(t, on.name, got[on], native)
		// Answers to other requests than conversations may pass without a call.
		if calls, want := got[on].Chunks, on.calls(bytewise.Chunks); calls < want && c.API() != "" {
			t.Errorf("%s: the filter was called %d times for the response's body, want %d", on.name, calls, want)
		}
	}
	checkAnswers(t, c, got, table)
	runGroupings(t, s, c, native, table)
	table.add(suiteRow{c: c, mode: mode, native: native, wazero: got[s.wazero[0]], envoy: got[s.envoy[0]]})
}

// runGroupings runs a case on every host with other numbers of tokens in the server's events, whole and in single
// bytes. The hosts must agree to the byte, and the client must get what it gets of the case's own events, though in
// other pieces.
func runGroupings(t *testing.T, s *stage, c *cases.Case, own cases.Seen, table *suiteTable) {
	t.Helper()
	own.View = cases.Fold(own.View)
	for _, tokens := range c.OtherGroupings() {
		got := runAll(t, c, slices.Concat(s.native, s.wazero[:2], s.envoy), tokens)
		native := got[s.native[0]]
		for on, seen := range got {
			cases.Compare(t, fmt.Sprintf("%s, %d tokens in an event", on.name, tokens), seen, native)
		}
		checkAnswers(t, c, got, table)
		native.View = cases.Fold(native.View)
		cases.Compare(t, fmt.Sprintf("native, %d tokens in an event, folded", tokens), native, own)
	}
}

// checkAnswers holds every different answer of a case against OpenAI's schemas, and streams against their grammars.
func checkAnswers(t *testing.T, c *cases.Case, got map[*place]cases.Seen, table *suiteTable) {
	t.Helper()
	checked := map[string]bool{}
	for on, s := range got {
		if checked[s.View] || c.ServerKind().Conversations && strings.Contains(s.View, `"stop_reason"`) {
			continue // a server's own answer, which has passed
		}
		checked[s.View] = true
		schemas := table.schemas
		if c.Settings["token_ids"] == "true" {
			schemas = table.traced
		}
		n, err := schemas.Check(c.API(), c.ByChannels(), s.View)
		if err != nil {
			t.Errorf("%s: not as OpenAI's schemas or the grammar say: %v", on.name, err)
		}
		table.checked += n
	}
}

// calls is how often the filter must have been called for a stream of which the native host was given so many single
// bytes, before it came to an end or was given up.
func (p *place) calls(bytes int) int {
	if p.bytewise {
		return bytes
	}
	calls := min(bytes, 1)
	for _, at := range p.cuts {
		if at < bytes-1 {
			calls++
		}
	}
	return calls
}

// reducedView returns the view that the case wants in reduced mode. With -update it first writes the one that was seen.
func reducedView(t *testing.T, c *cases.Case, native cases.Seen) string {
	t.Helper()
	if *lab.Update {
		different := native.View
		if different == c.Member("want") {
			different = ""
		}
		if err := c.UpdateReduced(different); err != nil {
			t.Fatal(err)
		}
		*c = *c.Reload(t)
	}
	want, mistake := c.ReducedView()
	if mistake != "" {
		t.Error(mistake)
	}
	return want
}
