package tokenizer

import (
	"unsafe"

	"github.com/harmonyedge/harmonyedge/harmonycore/bpe"
)

// Tokenizer encodes and decodes with one vocabulary. Safe for concurrent use:
// it holds no scratch.
type Tokenizer struct {
	vocabulary *bpe.Vocabulary
}

// New returns a tokenizer for v, whose ids must be those of o200k.
func New(v *bpe.Vocabulary) *Tokenizer { return &Tokenizer{vocabulary: v} }

// AppendEncode appends the ids of text to dst. Text is only text: whatever
// spells a control token gives ordinary ids. Bytes that are not UTF-8 are
// encoded as they are; the reference never sees such. One fragment per call:
// tokens never join across two calls.
func (t *Tokenizer) AppendEncode(dst []uint32, text string) []uint32 {
	var e Encoder
	return e.Append(dst, t, text)
}

// AppendEncodeSpecial is AppendEncode, but every spelling of a control token
// (SpecialName) gives that token. Only for text that nobody outside wrote.
func (t *Tokenizer) AppendEncodeSpecial(dst []uint32, text string) []uint32 {
	var e Encoder
	return e.AppendSpecial(dst, t, text)
}

// Count is the number of ids that AppendEncode would append.
func (t *Tokenizer) Count(text string) int {
	var e Encoder
	return e.Count(t, text)
}

// Encoder is the scratch of encoding, for a caller that encodes often and
// wants no garbage. The zero value is ready. Not for concurrent use.
type Encoder struct {
	merger bpe.Encoder
}

// Append is Tokenizer.AppendEncode with this scratch.
func (e *Encoder) Append(dst []uint32, t *Tokenizer, text string) []uint32 {
	for i := 0; i < len(text); {
		end := next(text, i)
		// In two steps, as nearly all pieces are tokens: a call less for each.
		if id, ok := t.vocabulary.Lookup(text[i:end]); ok {
			dst = append(dst, id)
		} else {
			dst = e.merger.Merge(dst, t.vocabulary, text[i:end])
		}
		i = end
	}
	return dst
}

// AppendSpecial is Tokenizer.AppendEncodeSpecial with this scratch.
func (e *Encoder) AppendSpecial(dst []uint32, t *Tokenizer, text string) []uint32 {
	for {
		at, size, id := findSpecial(text)
		dst = e.Append(dst, t, text[:at])
		if size == 0 {
			return dst
		}
		dst = append(dst, id)
		text = text[at+size:]
	}
}

// Count is Tokenizer.Count with this scratch.
func (e *Encoder) Count(t *Tokenizer, text string) int {
	n := 0
	for i := 0; i < len(text); {
		end := next(text, i)
		n += e.merger.Count(t.vocabulary, text[i:end])
		i = end
	}
	return n
}

// view is the bytes of text without a copy; nothing here writes to them.
func view(text string) []byte {
	return unsafe.Slice(unsafe.StringData(text), len(text))
}
