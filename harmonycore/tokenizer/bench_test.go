package tokenizer_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// Run with
//
//	go test -run '^$' -bench Encode -count 10 ./harmonycore/tokenizer | tee new.txt; benchstat old.txt new.txt
//
// HARMONY_CORPUS=file adds a text of one's own. Texts are made once, of words with a natural spread of frequency, so
// that caches see what prose shows them.
func BenchmarkEncode(b *testing.B) {
	tok := o200k.Tokenizer()
	for _, c := range corpora(b) {
		b.Run(c.name, func(b *testing.B) {
			var e tokenizer.Encoder
			ids := e.Append(nil, tok, c.text)
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				ids = e.Append(ids[:0], tok, c.text)
			}
			b.ReportMetric(float64(len(c.text))/float64(len(ids)), "B/token")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	tok := o200k.Tokenizer()
	for _, c := range corpora(b)[:3] {
		b.Run(c.name, func(b *testing.B) {
			ids := tok.AppendEncode(nil, c.text)
			var out []byte
			var d tokenizer.Decoder
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				out = out[:0]
				for _, id := range ids {
					out = d.Append(out, tok, id)
				}
			}
			b.ReportMetric(float64(len(ids)), "tokens/op")
		})
	}
}

type corpus struct{ name, text string }

func corpora(b *testing.B) []corpus {
	const size = 1 << 20
	all := []corpus{
		{"prose", prose(size)},
		{"code", code(size)},
		{"mixed", mixed(b, size)},
		{"message-200B", prose(200)},
		{"worst-a", strings.Repeat("a", size)},
		{"worst-spaces", strings.Repeat(" ", size)},
		{"worst-han", strings.Repeat("中", size/3)},
		{"worst-digits", strings.Repeat("7", size)},
		{"worst-letters", letters(size)},
	}
	if name := os.Getenv("HARMONY_CORPUS"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, corpus{"file", string(text)})
	}
	return all
}

const proseWords = "the of and to a in is that it was for on are as with his they at be this from I have or by one " +
	"had not but what all were " +
	"when we there can an your which their said if do will each about how up out them then she many some so these " +
	"would other into has more her two like him see " +
	"time could no make than first been its who now people my made over did down only way find use may water long " +
	"little very after words called just where most know " +
	"government important children mountain language perhaps suddenly remember question experiment refraction light " +
	"prism colours whitewash fence Tom Aunt Polly " +
	"unquestionably philosophical wherefore notwithstanding incomprehensible Huckleberry St. Petersburg refrangibility " +
	"circumference homogeneal phænomena"

// prose is English-looking text: frequent words are frequent, names are rare.
func prose(size int) string {
	rng := rand.New(rand.NewPCG(3, 4))
	words := strings.Fields(proseWords)
	var s strings.Builder
	for s.Len() < size {
		for n := 4 + rng.IntN(14); n > 0; n-- {
			w := words[int(float64(len(words))*rng.Float64()*rng.Float64())]
			if s.Len() > 0 {
				s.WriteByte(' ')
			}
			s.WriteString(w)
			if rng.IntN(9) == 0 {
				s.WriteByte(",;:"[rng.IntN(3)])
			}
		}
		s.WriteString([]string{".", ".", ".", "?", "!\n", ".\n\n", ", don't you see?",
			" (18" + string(rune('0'+rng.IntN(10))) + "6)."}[rng.IntN(8)])
	}
	return s.String()[:size]
}

func code(size int) string {
	rng := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields("ctx err req resp s.mu conn buf n len i http.Request fmt.Errorf bytesRead maxHeaderBytes " +
		"isClosed self value None True newServeMux fooBarBaz x1 tmp_file")
	var s strings.Builder
	for s.Len() < size {
		w := func() string { return words[rng.IntN(len(words))] }
		s.WriteString(strings.Repeat("\t", rng.IntN(4)) + strings.Repeat("    ", rng.IntN(3)))
		switch rng.IntN(5) {
		case 0:
			s.WriteString("if " + w() + " != nil {\n\t\treturn nil, " + w() + "\n\t}\n")
		case 1:
			s.WriteString(w() + ", " + w() + " := " + w() + "(" + w() + ", 0x" + "1f8" + ")\n")
		case 2:
			s.WriteString("// " + w() + " reports whether " + w() + " is in " + w() + ".\n\n")
		case 3:
			s.WriteString("for _, " + w() + " := range " + w() + " {\n")
		case 4:
			s.WriteString("def " + w() + "(self, " + w() + "=" + w() + "):\n        return " + w() + "[\"" + w() + "\"]\n")
		}
	}
	return s.String()[:size]
}

// mixed is the vectors' texts in many scripts, in a random order.
func mixed(b *testing.B, size int) string {
	rng := rand.New(rand.NewPCG(7, 8))
	vectors := readVectors(b, "encode.txt", 2900, encodeVector)[:300] // the scripts come first
	var s strings.Builder
	for s.Len() < size {
		s.WriteString(vectors[rng.IntN(len(vectors))].text)
	}
	return s.String()[:size]
}

// letters is one word without an end, in which nothing repeats.
func letters(size int) string {
	rng := rand.New(rand.NewPCG(9, 10))
	s := make([]byte, size)
	for i := range s {
		s[i] = 'a' + byte(rng.IntN(26))
	}
	return string(s)
}
