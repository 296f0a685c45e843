package tokenizer

import (
	"math"
	"sync"
	"unsafe"

	"github.com/harmonyedge/harmonyedge/internal/bpe"
)

// Tokenizer encodes and decodes with one vocabulary. Safe for concurrent use.
type Tokenizer struct {
	vocabulary *bpe.Vocabulary
	// fewest is for text without control tokens, fewestSpecial for text that may spell them.
	fewest, fewestSpecial *bpe.Fewest
	encoders              sync.Pool // of *Encoder
}

// New returns a tokenizer that uses the lookup table of a vocabulary, whose ids must be those of o200k. The table stays
// where it lies, and must not be written to. Programs that import package o200k take its tokenizer instead.
func New(table []byte) (*Tokenizer, error) {
	v, err := bpe.Open(table)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{vocabulary: v, fewest: bpe.NewFewest(v)}
	special := *t.fewest
	for id := uint32(specialBase); id <= LastSpecial; id++ {
		if name, ok := specialBytes(id); ok {
			special.Add(name)
		}
	}
	t.fewestSpecial = &special
	return t, nil
}

// AppendEncode appends the ids of text to dst. Text is only text: whatever spells a control token gives ordinary ids.
// Bytes that are not UTF-8 are encoded as they are; the reference never sees such. One fragment per call: tokens never
// join across two calls.
func (t *Tokenizer) AppendEncode(dst []uint32, text string) []uint32 {
	e := t.Borrow()
	dst = e.Append(dst, t, text)
	t.Return(e)
	return dst
}

// AppendEncodeSpecial is [Tokenizer.AppendEncode], but every spelling of a control token ([SpecialName]) gives that
// token. Only for text that nobody outside wrote.
func (t *Tokenizer) AppendEncodeSpecial(dst []uint32, text string) []uint32 {
	e := t.Borrow()
	dst = e.AppendSpecial(dst, t, text)
	t.Return(e)
	return dst
}

// Count is the number of ids that [Tokenizer.AppendEncode] would append.
func (t *Tokenizer) Count(text string) int {
	e := t.Borrow()
	n := e.Count(t, text)
	t.Return(e)
	return n
}

// Encoder is the scratch of encoding, 530 KB at most, and a memory of the words that it took apart: it is faster the
// longer it is used. For a caller that encodes often. The zero value is ready. Not for concurrent use.
type Encoder struct {
	merger bpe.Encoder
}

// Borrow is an [Encoder] out of those that the [Tokenizer]'s users share, for many texts in a row; [Tokenizer.Return]
// it, and use it no more.
func (t *Tokenizer) Borrow() *Encoder {
	if e, ok := t.encoders.Get().(*Encoder); ok {
		return e
	}
	return new(Encoder)
}

// Return gives an [Encoder] to the next who borrows one.
func (t *Tokenizer) Return(e *Encoder) { t.encoders.Put(e) }

// Append is [Tokenizer.AppendEncode] with this scratch.
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

// AppendWithin is [Encoder.Append] for a text of which at most so many ids are wanted. It reports whether the text has
// no more. If it has, AppendWithin stops soon after that many, or before it has begun, and what it has appended is no
// use.
func (e *Encoder) AppendWithin(dst []uint32, t *Tokenizer, text string, most int) ([]uint32, bool) {
	if t.fewest.Exceeds(text, most) {
		return dst, false
	}
	if len(text) <= most {
		return e.Append(dst, t, text), true
	}
	limit := len(dst) + most
	for i := 0; i < len(text); {
		end := next(text, i)
		if id, ok := t.vocabulary.Lookup(text[i:end]); ok {
			dst = append(dst, id)
		} else if dst, ok = e.merger.MergeWithin(dst, t.vocabulary, text[i:end], limit-len(dst)); !ok {
			return dst, false
		}
		if len(dst) > limit {
			return dst, false
		}
		i = end
	}
	return dst, true
}

// AppendSpecial is [Tokenizer.AppendEncodeSpecial] with this scratch.
func (e *Encoder) AppendSpecial(dst []uint32, t *Tokenizer, text string) []uint32 {
	dst, _ = e.AppendSpecialWithin(dst, t, text, math.MaxInt)
	return dst
}

// AppendSpecialWithin is to [Encoder.AppendSpecial] what [Encoder.AppendWithin] is to [Encoder.Append].
func (e *Encoder) AppendSpecialWithin(dst []uint32, t *Tokenizer, text string, most int) ([]uint32, bool) {
	if t.fewestSpecial.Exceeds(text, most) {
		return dst, false
	}
	from := len(dst)
	for {
		at, size, id := findSpecial(text)
		ok := false
		if dst, ok = e.AppendWithin(dst, t, text[:at], most-(len(dst)-from)); !ok {
			return dst, false
		}
		if size == 0 {
			return dst, true
		}
		if dst = append(dst, id); len(dst)-from > most {
			return dst, false
		}
		text = text[at+size:]
	}
}

// Count is [Tokenizer.Count] with this scratch.
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
