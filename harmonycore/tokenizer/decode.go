package tokenizer

// TokenBytes returns the bytes of a token: an ordinary token's own bytes, or a special token's spelling. The bytes are
// a view, which must not be written to. They may be a part of a character. ok is false for an id that does not exist.
func (t *Tokenizer) TokenBytes(id uint32) (b []byte, ok bool) {
	if id >= specialBase {
		return specialBytes(id)
	}
	return t.vocabulary.Bytes(id)
}

// AppendDecode appends the bytes of ids to dst. At an unknown id it stops and returns false, with the bytes of the ids
// before it.
func (t *Tokenizer) AppendDecode(dst []byte, ids []uint32) ([]byte, bool) {
	for _, id := range ids {
		b, ok := t.TokenBytes(id)
		if !ok {
			return dst, false
		}
		dst = append(dst, b...)
	}
	return dst, true
}

// DecodedLen returns how many bytes [Tokenizer.AppendDecode] appends.
func (t *Tokenizer) DecodedLen(ids []uint32) (n int) {
	for _, id := range ids {
		b, ok := t.TokenBytes(id)
		if !ok {
			break
		}
		n += len(b)
	}
	return n
}

// DecodeString returns the text of ids. Bytes that are not UTF-8 become U+FFFD, one for each maximal part of a
// character, as the Unicode standard advises and as Python and Rust do. Each unknown id becomes U+FFFD too.
func (t *Tokenizer) DecodeString(ids []uint32) string {
	var d Decoder
	dst := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		dst = d.Append(dst, t, id)
	}
	return string(d.Flush(dst))
}

// Decoder decodes a stream of ids into whole characters. It holds back the bytes of an incomplete character. The zero
// value is ready to use. However the ids arrive, the text is the same as from [Tokenizer.DecodeString].
type Decoder struct {
	held [3]byte // the longest beginning of a character
	n    uint8
}

const replacement = "\uFFFD"

// Append appends the text that id completes to dst: nothing if the character is still incomplete.
func (d *Decoder) Append(dst []byte, t *Tokenizer, id uint32) []byte {
	b, ok := t.TokenBytes(id)
	if !ok {
		return append(d.Flush(dst), replacement...)
	}
	for d.n > 0 && len(b) > 0 {
		var char [4]byte
		n := copy(char[:], d.held[:min(int(d.n), len(d.held))])
		char[n] = b[0]
		size, state := character(char[:n+1])
		switch state {
		case incomplete:
			n = copy(d.held[:], char[:n+1])
			d.n = uint8(n)
			b = b[1:]
		case whole:
			dst = append(dst, char[:size]...)
			d.n = 0
			b = b[1:]
		case broken: // b[0] does not continue it
			dst = append(dst, replacement...)
			d.n = 0
		}
	}
	return d.appendBytes(dst, b)
}

// appendBytes is Append for bytes with nothing held back.
func (d *Decoder) appendBytes(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		from := i
		for i < len(b) && b[i] < 0x80 {
			i++
		}
		dst = append(dst, b[from:i]...)
		if i == len(b) {
			break
		}
		size, state := character(b[i:])
		switch state {
		case whole:
			dst = append(dst, b[i:i+size]...)
		case broken:
			dst = append(dst, replacement...)
		case incomplete:
			d.n = uint8(copy(d.held[:], b[i:]))
			return dst
		}
		i += size
	}
	return dst
}

// Flush ends the stream: an incomplete character becomes U+FFFD. After it the decoder is as new.
func (d *Decoder) Flush(dst []byte) []byte {
	if d.n == 0 {
		return dst
	}
	d.n = 0
	return append(dst, replacement...)
}

type charState uint8

const (
	whole      charState = iota
	broken               // can never become a character
	incomplete           // can, with more bytes
)

// character reads the start of b, which must not be empty. size is how many bytes belong together, and state what they
// are. A broken part is the maximal part that could have begun a character, at least one byte (Unicode, table 3-7).
func character(b []byte) (size int, state charState) {
	first := b[0]
	if first < 0x80 {
		return 1, whole
	}
	low, high, need := byte(0x80), byte(0xBF), 0
	switch {
	case first < 0xC2:
		return 1, broken
	case first < 0xE0:
		need = 2
	case first < 0xF0:
		need = 3
		switch first {
		case 0xE0:
			low = 0xA0
		case 0xED:
			high = 0x9F
		}
	case first < 0xF5:
		need = 4
		switch first {
		case 0xF0:
			low = 0x90
		case 0xF4:
			high = 0x8F
		}
	default:
		return 1, broken
	}
	for size = 1; size < need; size++ {
		if size >= len(b) {
			return size, incomplete
		}
		if b[size] < low || b[size] > high {
			return size, broken
		}
		low, high = 0x80, 0xBF
	}
	return need, whole
}
