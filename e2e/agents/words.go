package agents

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// vocabulary are the vocabulary's lower-case words. Those that are written most come first.
var vocabulary = sync.OnceValue(func() []string {
	var all []string
	t := o200k.Tokenizer()
	for id := range uint32(60_000) {
		b, _ := t.TokenBytes(id)
		text := string(b)
		if len(text) > 2 && len(text) < 13 && text[0] == ' ' &&
			strings.Trim(text[1:], "abcdefghijklmnopqrstuvwxyz") == "" {
			all = append(all, text[1:])
		}
	}
	return all
})

// writer writes texts.
type writer struct {
	*rand.Rand
	words []string
}

func newWriter(family Family, seed uint64) *writer {
	return &writer{rand.New(rand.NewPCG(uint64(family), seed)), vocabulary()}
}

// between returns a number from low to high.
func (w *writer) between(low, high int) int { return low + w.IntN(high-low+1) }

// word returns a word. As in a language, the second is drawn half as often as the first, the third a third as often.
func (w *writer) word() string {
	return w.words[int(math.Pow(float64(len(w.words)), w.Float64()))-1]
}

// noun returns a word that is not among those of every sentence.
func (w *writer) noun() string {
	const common = 100
	return w.words[common+int(math.Pow(float64(len(w.words)-common), w.Float64()))-1]
}

// name returns a name of so many words, such as parseHeader, and Name one that begins with a capital.
func (w *writer) name(words int) string {
	text := w.noun()
	for range words - 1 {
		text += capital(w.noun())
	}
	return text
}

// Name is name with a capital.
func (w *writer) Name(words int) string { return capital(w.name(words)) }

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// one returns one of the texts.
func (w *writer) one(of ...string) string { return of[w.IntN(len(of))] }

// hex returns n hexadecimal digits.
func (w *writer) hex(n int) string {
	var text strings.Builder
	for range n {
		text.WriteByte("0123456789abcdef"[w.IntN(16)])
	}
	return text.String()
}

// sentence returns a sentence of about n words.
func (w *writer) sentence(n int) string {
	var text strings.Builder
	text.WriteString(capital(w.word()))
	for range w.between(max(2, n-4), n+4) {
		switch w.IntN(24) {
		case 0:
			text.WriteString(",")
		case 1:
			text.WriteString(" `" + w.name(2) + "`")
		case 2:
			fmt.Fprintf(&text, " %d", w.IntN(1000))
		}
		text.WriteString(" " + w.word())
	}
	return text.String() + "."
}

// prose returns paragraphs, lists and headings of about n bytes.
func (w *writer) prose(n int) string {
	var text strings.Builder
	for text.Len() < n {
		switch w.IntN(8) {
		case 0:
			text.WriteString("\n\n## " + capital(w.sentence(4)) + "\n\n")
		case 1, 2:
			text.WriteString("\n- " + w.sentence(10))
		case 3:
			text.WriteString("\n\n" + w.sentence(12))
		default:
			text.WriteString(" " + w.sentence(12))
		}
	}
	return cut(strings.TrimSpace(text.String()), n)
}

// cut returns the first n bytes, or all.
func cut(text string, n int) string { return text[:min(n, len(text))] }
