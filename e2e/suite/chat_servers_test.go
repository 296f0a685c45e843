//go:build e2e

package suite

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/grammar"
)

// TestChatServerCases runs the cases that are about servers that take conversations, as TestSuite runs the others.
func TestChatServerCases(t *testing.T) {
	table := &suiteTable{schemas: grammar.LoadSchemas(t), traced: grammar.LoadTracedSchemas(t)}
	eachOnStages(t, cases.OfChatServers(t), asItIs, func(t *testing.T, s *stage, c *cases.Case, mode string) {
		runCase(t, s, c, mode, table)
	})
	t.Logf("%d answers, chunks and events are as OpenAI's schemas say", table.checked)
}

// TestChatServerCasesAtEveryCut plays the servers' answers to these cases as TestSuiteAtEveryCut plays the others'.
func TestChatServerCasesAtEveryCut(t *testing.T) {
	everyCutOf(t, cases.OfChatServers(t))
}
