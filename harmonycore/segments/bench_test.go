package segments_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// BenchmarkMemory notes the next turn of a conversation of 100,000 tokens, among many of the same client. In "full" the
// memory has as many as it takes, and all begin as the turn does.
func BenchmarkMemory(b *testing.B) {
	ids := o200k.Tokenizer().AppendEncodeSpecial(nil, "<|start|>system<|message|>You are here.<|end|>"+
		strings.Repeat("<|start|>user<|message|>"+strings.Repeat("Is it there? ", 40)+"<|end|>"+
			"<|start|>assistant<|channel|>final<|message|>Yes, it is.<|end|>", 560))
	for name, others := range map[string]int{"alone": 0, "full": 300} {
		b.Run(fmt.Sprintf("%s of %d tokens", name, len(ids)), func(b *testing.B) {
			m := segments.NewMemory(64 << 20)
			for i := range others {
				other := append([]uint32(nil), ids[:len(ids)-600]...)
				other[len(other)-20] = uint32(i)
				(&asked{ids: other, server: serverA}).send(m)
			}
			(&asked{ids: ids[:len(ids)-300], server: serverA}).send(m)
			b.ReportAllocs()
			for b.Loop() {
				t := m.Begin(o200k.Tokenizer(), segments.Asker{}, "gpt-oss-120b", "p", ids, segments.BlockSize)
				t.Unanswered()
			}
		})
	}
}
