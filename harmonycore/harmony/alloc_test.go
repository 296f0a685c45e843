package harmony

import (
	"runtime"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// allocations is how often f allocates: the least of three runs, since others may allocate at the same time. It stands
// for testing.AllocsPerRun, which under TinyGo always says zero.
func allocations(f func()) uint64 {
	minimum := ^uint64(0)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		minimum = min(minimum, after.Mallocs-before.Mallocs)
	}
	return minimum
}

var allocated []byte

func TestAllocationsAreSeen(t *testing.T) {
	n := allocations(func() {
		for range 100 {
			allocated = make([]byte, 16)
		}
	})
	if n < 100 {
		t.Errorf("100 allocations were counted as %d", n)
	}
}

// steady is content in which runes are split over tokens, and noise stands between them, so that every path is taken.
var steady = []struct{ name, text string }{
	{"prose", "Hello there, an assistant says ünïcode and {\"json\": [1, 2]}; = ==FINAL << a<b.\n"},
	{"split runes", "🜁𝒳 \U000e0001 晴れ ☀️ «110»x"},
	{"noise", "a<|channel|>b<|constrain|><|message|><|endoftext|>«200500»«201089»c<|channel|> "},
}

const steadyTokens = 10_000

// TestStreamParserAllocatesNothing: content costs no memory, whatever stands in it.
func TestStreamParserAllocatesNothing(t *testing.T) {
	for _, tt := range steady {
		p := NewStreamParser(o200k.Tokenizer(), &discard{})
		feed(p, tokens("<|channel|>final<|message|>"+tt.text))
		ids := repeated(tokens(tt.text), steadyTokens)
		if n := allocations(func() { feed(p, ids) }); n != 0 {
			t.Errorf("%s: %d tokens cost %d allocations", tt.name, len(ids), n)
		}
	}
}

func feed(p *StreamParser, ids []uint32) {
	for _, id := range ids {
		p.Process(id)
	}
}

// repeated is ids again and again, n of them or a few more.
func repeated(ids []uint32, n int) []uint32 {
	all := make([]uint32, 0, n+len(ids))
	for len(all) < n {
		all = append(all, ids...)
	}
	return all
}

// TestTextParserAllocatesNothing: neither does it as text, in chunks of one token and of one byte.
func TestTextParserAllocatesNothing(t *testing.T) {
	for _, dialect := range []struct {
		name, head string
		o          TextOptions
	}{
		{"printed", "<|channel|>final<|message|>", TextOptions{}},
		{"stripped", "analysis", TextOptions{Dialect: Stripped}},
		{"split", "x", TextOptions{Dialect: Split}},
		{"fallback", "x", TextOptions{Fallback: Fallback{To: FallBackToFinal, TimeoutMS: 9}}},
	} {
		for _, tt := range steady {
			if dialect.name != "printed" && tt.name == "noise" {
				continue // control tokens begin messages there
			}
			p := NewTextParser(&discard{}, dialect.o)
			p.Write([]byte(dialect.head), 0)
			// One text and where its tokens end: thousands of views of the vocabulary would slow TinyGo's collector
			// down.
			var text []byte
			var ends []int
			for _, id := range repeated(tokens(tt.text), steadyTokens) {
				if token, ok := o200k.Tokenizer().TokenBytes(id); ok {
					text = append(text, token...)
					ends = append(ends, len(text))
				}
			}
			write := func() {
				from := 0
				for i, end := range ends {
					if i%2 == 0 {
						p.Write(text[from:end], 0)
						from = end
					}
					for ; from < end; from++ {
						p.Write(text[from:from+1], 0)
					}
				}
			}
			write()
			if n := allocations(write); n != 0 {
				t.Errorf("%s, %s: %d tokens cost %d allocations", dialect.name, tt.name, len(ends), n)
			}
		}
	}
}

// TestStrictParserOnlyGrows: it keeps the content and the tokens, as the reference does, so these grow by doubling; a
// token by itself costs nothing, also when all is observed.
func TestStrictParserOnlyGrows(t *testing.T) {
	for _, tt := range steady {
		ids := repeated(tokens(tt.text), steadyTokens)
		head := tokens("<|channel|>final<|message|>")
		seen := 0
		n := allocations(func() {
			p := NewStrictParser(o200k.Tokenizer(), Assistant, true)
			for _, part := range [...][]uint32{head, ids} {
				for _, id := range part {
					if err := p.Process(id); err != nil {
						t.Fatal(err)
					}
					seen += len(p.LastDelta().Value) + len(p.Content()) + len(p.Channel().Value) + len(p.Recipient().Value) + len(
						p.ContentType().Value)
				}
			}
		})
		if n > 60 || seen == 0 {
			t.Errorf("%s: %d tokens cost %d allocations", tt.name, len(ids), n)
		}
	}
}

// TestMessagesAllocateAlike: what a stream of an analysis, a call and an answer costs does not depend on its length.
func TestMessagesAllocateAlike(t *testing.T) {
	cost := func(n int) uint64 {
		ids := tokens(answer(n))
		return allocations(func() {
			p := NewStreamParser(o200k.Tokenizer(), &discard{})
			feed(p, ids)
			p.Finish()
		})
	}
	if short, long := cost(5), cost(200); short != long || long > 30 {
		t.Errorf("%d allocations for a short stream, %d for a long one", short, long)
	}
}
