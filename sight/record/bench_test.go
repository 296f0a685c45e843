package record

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// BenchmarkTokens takes a server's event and the answer to it, as they come token by token.
func BenchmarkTokens(b *testing.B) {
	r, err := New(Options{Tokenizer: o200k.Tokenizer, Folder: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	var frames batch
	begin := func() {
		frames.begin(1, "a", vllmHead())
		frames.add(tap.Head, 1, 5, tap.ResponseHead{Status: 200, ContentType: "text/event-stream"})
		frames.add(tap.Chunk, 1, 6, "data: {\"choices\":[{\"index\":0,\"token_ids\":[200008]}]}\n\n")
	}
	begin()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%50_000 == 49_999 {
			begin() // a record has its bound
		}
		frames.add(tap.Chunk, 1, 10, "data: {\"choices\":[{\"index\":0,\"token_ids\":[25216]}]}\n\n")
		frames.add(tap.Answer, 1, 10, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hey\"}}]}\n\n")
		if err := r.take("1", frames.b); err != nil {
			b.Fatal(err)
		}
		frames.b = frames.b[:0]
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}
