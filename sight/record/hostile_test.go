package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// TestHostileCounts: a server that claims millions of tokens for each of its events costs no more than others. The
// recorder would count to as many, and nobody could look at any record meanwhile.
func TestHostileCounts(t *testing.T) {
	r := newRecorder(t, Options{})
	var b batch
	b.begin(1, "a", tap.SentHead{Path: "/completion", API: "chat", Model: "m", Server: contract.LlamaCPP, Translated: true})
	b.add(tap.Head, 1, 1, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
	const events = 10
	var chunk strings.Builder
	for range events {
		for _, claimed := range []int{1 << 24, 1} { // what it takes back is not understood
			fmt.Fprintf(&chunk, "data: {\"index\":0,\"content\":\"x\",\"tokens\":[100],\"tokens_predicted\":%d}\n\n", claimed)
		}
	}
	b.add(tap.Chunk, 1, 2, chunk.String())
	b.post(t, r, "1")
	if n := r.Summaries()[0].CompletionTokens; n < events || n > events*(maxUnseen+1) {
		t.Errorf("%d tokens are believed", n)
	}
	b.add(tap.End, 1, 3, tap.EndReport{Status: 502, FirstTokenMS: -1})
	b.post(t, r, "1")
	lines, _ := r.Lines("a")
	if !strings.Contains(string(lines), `"text":"x`) || !strings.Contains(string(lines), "16777216") {
		t.Errorf("%s", lines)
	}
}
