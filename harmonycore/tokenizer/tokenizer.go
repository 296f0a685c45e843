package tokenizer

import (
	"math"
	"sync"
	"unsafe"

	"github.com/harmonyedge/harmonyedge/internal/bpe"
)

// Tokenizer encodes and decodes with one vocabulary. It is safe for concurrent use.
type Tokenizer struct {
	vocabulary *bpe.Vocabulary
	// fewest is for text without control tokens. fewestSpecial is for text that may spell them.
	fewest, fewestSpecial *bpe.Fewest
	encoders              sync.Pool // of *Encoder
}

// New returns a tokenizer that uses the lookup table of a vocabulary. Its ids must be o200k's. The tokenizer
// does not copy the table, which must not change. Programs that import package o200k use its tokenizer instead.
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

// AppendEncode appends the ids of text to dst. Text that spells a control token is encoded to ordinary ids. Bytes that
// are not UTF-8 are encoded as they are; the reference never gets any. Each call encodes one fragment: tokens never
// span two calls.
func (t *Tokenizer) AppendEncode(dst []uint32, text string) []uint32 {
	e := t.Borrow()
	dst = e.Append(dst, t, text)
	t.Return(e)
	return dst
}

// AppendEncodeSpecial is [Tokenizer.AppendEncode], but every spelling of a control token ([SpecialName]) becomes that
// token. Use it only for text that the program itself has written.
func (t *Tokenizer) AppendEncodeSpecial(dst []uint32, text string) []uint32 {
	e := t.Borrow()
	dst = e.AppendSpecial(dst, t, text)
	t.Return(e)
	return dst
}

// Count returns the number of ids that [Tokenizer.AppendEncode] would append.
func (t *Tokenizer) Count(text string) int {
	e := t.Borrow()
	n := e.Count(t, text)
	t.Return(e)
	return n
}

// Encoder is reusable memory for encoding, 2.3 MB at most. It also remembers words that it has encoded, so it becomes
// faster with use. It is for callers that encode often. The zero value is ready to use. It is not safe for concurrent
// use.
type Encoder struct {
	merger bpe.Encoder
}

// Borrow returns one of the [Encoder] values that the users of a [Tokenizer] share, for many texts in a row. Pass it to
// [Tokenizer.Return] after use, and do not use it again.
func (t *Tokenizer) Borrow() *Encoder {
	if e, ok := t.encoders.Get().(*Encoder); ok {
		return e
	}
	return new(Encoder)
}

// Return makes an [Encoder] available to the next caller of [Tokenizer.Borrow].
func (t *Tokenizer) Return(e *Encoder) { t.encoders.Put(e) }

// Append is [Tokenizer.AppendEncode] with this encoder's memory.
func (e *Encoder) Append(dst []uint32, t *Tokenizer, text string) []uint32 {
	for i := 0; i < len(text); {
		end := next(text, i)
		dst = e.merger.AppendPart(dst, t.vocabulary, text, i, end)
		i = end
	}
	return dst
}

// AppendWithin is [Encoder.Append] for a caller that wants at most maxIDs ids. It reports whether the text has no more.
// If it has more, AppendWithin stops before or soon after that many, and the ids that it has appended are useless.
func (e *Encoder) AppendWithin(dst []uint32, t *Tokenizer, text string, maxIDs int) ([]uint32, bool) {
	if t.fewest.Exceeds(text, maxIDs) {
		return dst, false
	}
	if len(text) <= maxIDs {
		return e.Append(dst, t, text), true
	}
	limit := len(dst) + maxIDs
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

// AppendSpecial is [Tokenizer.AppendEncodeSpecial] with this encoder's memory.
func (e *Encoder) AppendSpecial(dst []uint32, t *Tokenizer, text string) []uint32 {
	dst, _ = e.AppendSpecialWithin(dst, t, text, math.MaxInt)
	return dst
}

// AppendSpecialWithin is [Encoder.AppendSpecial] with the limit of [Encoder.AppendWithin].
func (e *Encoder) AppendSpecialWithin(dst []uint32, t *Tokenizer, text string, limit int) ([]uint32, bool) {
	if t.fewestSpecial.Exceeds(text, limit) {
		return dst, false
	}
	from := len(dst)
	for {
		at, size, id := findSpecial(text)
		ok := false
		if dst, ok = e.AppendWithin(dst, t, text[:at], limit-(len(dst)-from)); !ok {
			return dst, false
		}
		if size == 0 {
			return dst, true
		}
		if dst = append(dst, id); len(dst)-from > limit {
			return dst, false
		}
		text = text[at+size:]
	}
}

// Count is [Tokenizer.Count] with this encoder's memory.
func (e *Encoder) Count(t *Tokenizer, text string) int {
	n := 0
	for i := 0; i < len(text); {
		end := next(text, i)
		n += e.merger.Count(t.vocabulary, text[i:end])
		i = end
	}
	return n
}

// view returns the bytes of text without a copy. They must not be written to.
func view(text string) []byte {
	return unsafe.Slice(unsafe.StringData(text), len(text))
}
