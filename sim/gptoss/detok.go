package gptoss

import (
	"strings"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Detokenizer turns ids into text as vLLM's fast path does. Text that ends in U+FFFD, because a character is incomplete
// or invalid, is held back until a later token completes or follows it. If no token comes, the text is dropped.
//
// spaces_between_special_tokens has no effect here: the byte-level decoder of this vocabulary never adds spaces.
type Detokenizer struct {
	Tokenizer   *tokenizer.Tokenizer
	SkipSpecial bool
	Pending     []byte
}

// Add returns the text that a token completes.
func (d *Detokenizer) Add(id uint32) string {
	if tokenizer.IsSpecial(id) && d.SkipSpecial {
		return ""
	}
	b, ok := d.Tokenizer.TokenBytes(id)
	if !ok {
		return ""
	}
	d.Pending = append(d.Pending, b...)
	s := Lossy(d.Pending)
	if s == "" || strings.HasSuffix(s, "\uFFFD") {
		return ""
	}
	d.Pending = d.Pending[:0]
	return s
}

// Lossy replaces each maximal bad part of b by one U+FFFD, as Rust's from_utf8_lossy does.
func Lossy(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n <= 1 {
			for n = 1; !utf8.FullRune(b[:1]) && n < len(b) && !utf8.FullRune(b[:n+1]); n++ {
			}
			out.WriteRune(utf8.RuneError)
			b = b[n:]
			continue
		}
		out.Write(b[:n])
		b = b[n:]
	}
	return out.String()
}
