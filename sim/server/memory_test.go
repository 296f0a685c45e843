package server

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestLongAnswerIsKeptOnce holds a long answer: each token's text must not keep all of the text before it.
func TestLongAnswerIsKeptOnce(t *testing.T) {
	vocabulary := o200k.Tokenizer()
	generated := slices.Repeat(vocabulary.AppendEncode(nil, " word"), 24_000)
	generated = append(generated, tokenizer.Return)
	for _, stops := range [][]string{nil, {"never said"}} {
		maximum := len(generated)
		before := heap()
		g := generate(vocabulary, &Completion{MaxTokens: &maximum, Stop: stops}, generated, "")
		growth := heap() - before
		if len(g.IDs) != len(generated) || len(strings.Join(g.Texts, "")) != 24_000*len(" word") {
			t.Fatalf("%d tokens, and a text of %d bytes", len(g.IDs), len(strings.Join(g.Texts, "")))
		}
		const limit = 8 << 20
		if growth > limit {
			t.Errorf("with the stops %q an answer of %d tokens takes %d bytes, want at most %d", stops, len(generated),
				growth, limit)
		}
		runtime.KeepAlive(g)
	}
}

// heap is what is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
