//go:build e2e && vllm

package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// lostSystem is that a system message in the middle of the conversation stands at the front of the prompt.
const lostSystem = "system messages"

// renderedCommand writes the table of what stays of prompts beside vLLM.
const renderedCommand = "make test-claude-vllm ARGS=-update"

// compareRendered gives what Claude Code asks in its days to vLLM too, and compares the prompts that vLLM makes of it as
// TestClaudeKept compares ours. Without HARMONY_CLAUDE it is a short day. -update writes the page's table.
func compareRendered(t *testing.T, vLLM string) {
	days := claudeDays(t)
	table := "| name | by | prompts | refused | tokens | kept | system messages | tools | reasoning | compaction |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n"
	for _, day := range days {
		if len(day.bodies) != len(day.requests) {
			t.Fatalf("%s: %d requests of Claude Code, and %d prompts", day.name, len(day.bodies), len(day.requests))
		}
		rendered, refused := renderedBy(t, vLLM, day.bodies)
		for _, side := range []struct {
			by      string
			prompts []sim.Request
			refused map[string]int
		}{{"Harmony Edge", day.requests, nil}, {"vLLM", rendered, refused}} {
			kept := comparePrompts(side.prompts, whyRendered)
			t.Logf("%s by %s: %+v, refused %v", day.name, side.by, kept, side.refused)
			table += kept.renderedRow(day.name, side.by, side.refused)
		}
	}
	if *lab.Update && wholeClaudeTable() {
		rendered := claudeTable()
		rendered.command = renderedCommand
		rendered.compareTable(t, "rendered", table)
	}
}

// renderedBy returns the prompts that vLLM makes of requests, and the refusals by their messages.
func renderedBy(t *testing.T, url string, bodies [][]byte) (prompts []sim.Request, refused map[string]int) {
	t.Helper()
	refused = map[string]int{}
	for _, body := range bodies {
		answer, err := http.Post(url+"/v1/messages/render", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		var prompt struct {
			IDs []uint32 `json:"token_ids"`
		}
		if answer.StatusCode != http.StatusOK || json.Unmarshal(text, &prompt) != nil || len(prompt.IDs) == 0 {
			refused[fmt.Sprintf("%d %.300s", answer.StatusCode, text)]++
			continue
		}
		prompts = append(prompts, sim.Request{PromptIDs: prompt.IDs})
	}
	return prompts, refused
}

// whyRendered returns why a prompt goes on otherwise than the next one from a token on, whoever has made the two.
func whyRendered(prompt, next []uint32, at int) string {
	why := whyLost(prompt, next, at)
	begun := lab.Vocabulary.DecodeString(prompt[:at])
	message := begun[max(0, strings.LastIndex(begun, "<|start|>")):]
	if why == lostTools && !strings.Contains(message, "# Tools\n") {
		return lostSystem
	}
	return why
}

// renderedRow is a row of the table of prompts that two programs have made.
func (k *keptTokens) renderedRow(name, by string, refused map[string]int) string {
	times := 0
	for n := range maps.Values(refused) {
		times += n
	}
	lost := 0
	for n := range maps.Values(k.lost) {
		lost += n
	}
	row := fmt.Sprintf("| %s | %s | %d | %d | %d | %.1f %% |", name, by, k.prompts, times, k.tokens,
		100*float64(k.tokens-lost)/float64(max(1, k.tokens)))
	for _, why := range []string{lostSystem, lostTools, lostReasoning, lostCompaction} {
		row += fmt.Sprintf(" %d (%d) |", k.lost[why], k.times[why])
	}
	return row + "\n"
}
