package sim

import (
	"strings"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// detokenizer turns ids into text as vLLM's fast path does. Text that ends in U+FFFD, because a character is incomplete
// or invalid, is held back until a later token completes or follows it. If no token comes, the text is dropped.
//
// spaces_between_special_tokens has no effect here: the byte-level decoder of this vocabulary never adds spaces.
type detokenizer struct {
	t           *tokenizer.Tokenizer
	skipSpecial bool
	pending     []byte
}

// add returns the text that a token completes.
func (d *detokenizer) add(id uint32) string {
	if tokenizer.IsSpecial(id) && d.skipSpecial {
		return ""
	}
	b, ok := d.t.TokenBytes(id)
	if !ok {
		return ""
	}
	d.pending = append(d.pending, b...)
	s := lossy(d.pending)
	if s == "" || strings.HasSuffix(s, "\uFFFD") {
		return ""
	}
	d.pending = d.pending[:0]
	return s
}

// lossy replaces each maximal bad part of b by one U+FFFD, as Rust's from_utf8_lossy does.
func lossy(b []byte) string {
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
