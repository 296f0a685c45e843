//go:build llamacpp

package llamacpp

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect"
)

// TestDiff sends two turns of an agent for each change, and compares what the server says of its cache with what
// `harmony inspect diff` has foretold: to the token. The server keeps the last prompt of its one slot, and no others.
// Of the layers with a sliding window it keeps by default what is near the prompt's end, and so it may read less.
func TestDiff(t *testing.T) {
	for _, flags := range [][]string{{"--cache-ram", "0", "--swa-full"}, {"--cache-ram", "0"}} {
		whole := len(flags) == 3
		s := start(t, 1, 4096, flags...)
		for i, c := range engines.Changes() {
			var e event
			for _, line := range [][]byte{c.First, c.Next} {
				ids, err := engines.RenderLine(line)
				if err != nil {
					t.Fatal(err)
				}
				e = complete(t, s, ask(ids, map[string]any{"stream": false, "n_predict": 1}))
			}
			d := compare(t, c.First, c.Next)
			if d.Reason.String() != c.Reason || e.Timings == nil || e.Timings.CacheN > d.Cached ||
				whole && (e.Timings.CacheN != d.Cached || e.Timings.PromptN != d.Computed) {
				t.Fatalf("%s: change %d, %s: the server says %+v, we %+v", flags, i, c.Reason, e.Timings, d.Difference)
			}
			t.Logf("%s: %-17s: %d tokens read from the cache, %d computed; foretold %d, %d, of which %d again", flags,
				c.Reason, e.Timings.CacheN, e.Timings.PromptN, d.Cached, d.Computed, d.Again)
		}
	}
}

// TestDiffOfRecord has the server write an answer, and goes on behind it: what it wrote is in its cache, but for the
// last token.
func TestDiffOfRecord(t *testing.T) {
	s := start(t, 1, 4096, "--cache-ram", "0")
	script := engines.Scripts[0].IDs
	prompt, err := engines.Prompt(script, engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	e := complete(t, s, ask(prompt, map[string]any{"stream": false, "return_tokens": true}))
	next := slices.Concat(prompt, e.Tokens, engines.Spell("<|start|>user<|message|>Go on.<|end|><|start|>assistant"))
	record := []byte(`{"type":"request","record":1,"path":"/v1/responses"}` + "\n")
	for _, line := range []map[string]any{{"type": "sent", "server": "llamacpp", "prompt_ids": prompt},
		{"type": "tokens", "choice": 0, "ids": e.Tokens}} {
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		record = append(append(record, text...), '\n')
	}
	ids, err := json.Marshal(next)
	if err != nil {
		t.Fatal(err)
	}
	d := compare(t, record, ids)
	e = complete(t, s, ask(next, map[string]any{"stream": false, "n_predict": 1}))
	if d.Cached != len(prompt)+len(script)-1 || e.Timings.CacheN != d.Cached || e.Timings.PromptN != d.Computed {
		t.Errorf("the server says %+v, we %+v, of %d and %d tokens", e.Timings, d.Difference, len(prompt), len(script))
	}
}

// compare compares two prompts as for a cache without blocks.
func compare(t *testing.T, before, now []byte) *inspect.Diff {
	t.Helper()
	d, err := inspect.NewDiff(o200k.Tokenizer(), inspect.DiffFile{Name: "before", Data: before},
		inspect.DiffFile{Name: "now", Data: now}, inspect.DiffOptions{Block: 1})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
