package backend

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// sglangTrimmer removes from SGLang's events what the gateway does not need, wherever the network cut the stream: the
// text, and the elements of the arrays of output that earlier events had. In a cumulative stream both grow with the
// answer. Without an sglangTrimmer the gateway would hold all of them for each event, and an event could outgrow the
// largest that is accepted. The zero sglangTrimmer is ready for use, and removes the text alone.
//
// It is an automaton over the bytes of a line of JSON. Only an unescaped quote opens or closes a string, so that no
// text is mistaken for a key. The data of an event is one line: each line begins anew.
type sglangTrimmer struct {
	// skip is the number of elements to leave out at the beginning of each array of output.
	skip int
	// dropped is the number of ids that were left out since the owner set it to 0.
	dropped int

	state trimState
	// key holds the beginning of the last string, and size its length. escaped reports whether the last byte of a string
	// was a backslash that escapes the next byte.
	key     [32]byte
	size    int
	escaped bool
	// ids reports whether the array has the ids. element is the index of the array's element, nesting how many
	// brackets are open in it, quoted whether its last byte lies in a string. begun reports whether the array has an
	// element.
	ids, quoted, begun bool
	element, nesting   int
}

// trimState is where the last byte was.
type trimState uint8

const (
	trimOutside trimState = iota
	// trimString: in a string that may be a key.
	trimString
	// trimAfterString: after such a string, before a colon.
	trimAfterString
	// trimBeforeText and trimBeforeArray: after the colon of a key whose value is trimmed.
	trimBeforeText
	trimBeforeArray
	// trimText: in the text.
	trimText
	// trimArray: in an array of output, whose element is left out.
	trimArray
)

// trim returns chunk without what is not needed. The result lies in chunk's memory. It reads one byte at a time, and
// many at a time where no byte changes the state.
func (t *sglangTrimmer) trim(chunk []byte) []byte {
	kept := chunk[:0]
	for len(chunk) > 0 {
		n := t.run(chunk)
		if t.state == trimOutside {
			kept = append(kept, chunk[:n]...)
		}
		chunk = chunk[n:]
		if len(chunk) > 0 {
			if t.keeps(chunk[0]) {
				kept = append(kept, chunk[0])
			}
			chunk = chunk[1:]
		}
	}
	return kept
}

// run returns how many bytes at the beginning of chunk leave the state as it is. Outside they are kept, and elsewhere
// left out.
func (t *sglangTrimmer) run(chunk []byte) int {
	n := 0
	switch {
	case t.state == trimOutside:
		for n < len(chunk) && chunk[n] != '"' && chunk[n] != '\n' && chunk[n] != '\r' {
			n++
		}
	case t.state == trimText && !t.escaped:
		return runText(chunk)
	case t.state == trimArray && !t.quoted:
		return t.runDigits(chunk)
	}
	return n
}

// Eight bytes are examined at once: ones has the lowest bit of each byte set, highs the highest.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// eight returns the eight bytes at i, which the caller has checked to exist, least significant byte first. TinyGo would
// check each access twice more.
func eight(b []byte, i int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))[:])
}

// runText returns how many bytes at the beginning of chunk stand for themselves in a text.
func runText(chunk []byte) int {
	n := 0
	for ; n+8 <= len(chunk); n += 8 {
		w := eight(chunk, n)
		quote, slash := w^ones*'"', w^ones*'\\'
		// The highest bit of the first byte that ends the run is set, and perhaps the highest bits of later bytes.
		if found := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs; found != 0 {
			return n + bits.TrailingZeros64(found)>>3
		}
	}
	for n < len(chunk) && chunk[n] != '"' && chunk[n] != '\\' && chunk[n] >= ' ' {
		n++
	}
	return n
}

// runDigits returns how many bytes at the beginning of chunk are digits of an array that is left out, and commas
// between elements that are. It counts the elements.
func (t *sglangTrimmer) runDigits(chunk []byte) int {
	n := 0
	for n < len(chunk) {
		if n+8 <= len(chunk) && t.eightDigits(eight(chunk, n)) {
			n += 8
			continue
		}
		switch c := chunk[n]; {
		case c >= '0' && c <= '9':
			t.begun = true
		case c == ',' && t.nesting > 0:
		case c == ',' && t.nesting == 0 && t.begun && t.element+1 < t.skip:
			t.endElement()
		default:
			return n
		}
		n++
	}
	return n
}

// eightDigits reads eight bytes of an array of numbers. It reports whether they are digits, and single commas after
// elements that are left out. Otherwise it changes nothing.
func (t *sglangTrimmer) eightDigits(w uint64) bool {
	const low7 = ^uint64(highs)
	// The highest bit of each byte that is a comma, and of each that is a digit.
	comma, digit := w^ones*',', w^ones*'0'
	commas := ^((comma&low7 + low7) | comma) & highs
	digits := ^((digit&low7 + ones*(0x80-10)) | digit) & highs
	if commas|digits != highs || commas&(commas<<8) != 0 || commas&0x80 != 0 && !t.begun || t.nesting > 0 {
		return false
	}
	n := bits.OnesCount64(commas)
	if t.element+n >= t.skip {
		return false
	}
	t.element += n
	if t.ids {
		t.dropped += n
	}
	t.begun = commas>>63 == 0
	return true
}

// keeps reads one byte. It reports whether the byte is kept.
func (t *sglangTrimmer) keeps(c byte) bool {
	if c == '\n' || c == '\r' {
		t.endElement()
		t.state = trimOutside
		return true
	}
	switch t.state {
	case trimText:
		return t.text(c)
	case trimArray:
		return t.array(c)
	case trimString:
		t.string(c)
	case trimAfterString:
		t.afterString(c)
	case trimBeforeText, trimBeforeArray:
		t.before(c)
	default:
		t.outside(c)
	}
	return true
}

func (t *sglangTrimmer) outside(c byte) {
	t.state = trimOutside
	if c == '"' {
		t.state, t.size, t.escaped = trimString, 0, false
	}
}

func (t *sglangTrimmer) string(c byte) {
	switch {
	case t.escaped:
		t.escaped = false
	case c == '\\':
		t.escaped = true
		t.size = len(t.key) + 1 // an escaped key is none of ours
	case c == '"':
		t.state = trimAfterString
		return
	}
	if t.size < len(t.key) {
		t.key[t.size] = c
	}
	t.size = min(t.size+1, len(t.key)+1)
}

func (t *sglangTrimmer) afterString(c byte) {
	switch c {
	case ' ', '\t':
	case ':':
		switch t.state = trimOutside; {
		case t.is("text"):
			t.state = trimBeforeText
		case t.skip == 0:
		case t.is("output_ids"):
			t.state, t.ids = trimBeforeArray, true
		case t.is("output_token_logprobs"), t.is("output_top_logprobs"):
			t.state, t.ids = trimBeforeArray, false
		}
	default:
		t.outside(c)
	}
}

// is reports whether the last string is this key. It compares byte by byte, because TinyGo allocates for a comparison
// with a string.
func (t *sglangTrimmer) is(key string) bool {
	if t.size != len(key) {
		return false
	}
	for i := range len(key) {
		if t.key[i] != key[i] {
			return false
		}
	}
	return true
}

func (t *sglangTrimmer) before(c byte) {
	switch {
	case c == ' ' || c == '\t':
	case c == '"' && t.state == trimBeforeText:
		t.state, t.escaped = trimText, false
	case c == '[' && t.state == trimBeforeArray:
		t.state, t.element, t.nesting, t.quoted, t.escaped, t.begun = trimArray, 0, 0, false, false, false
	default:
		t.outside(c)
	}
}

// text leaves out the text. Its closing quote is kept.
func (t *sglangTrimmer) text(c byte) bool {
	switch {
	case t.escaped:
		t.escaped = false
	case c == '\\':
		t.escaped = true
	case c == '"':
		t.state = trimOutside
		return true
	}
	return false
}

// array leaves out elements up to skip, each with the comma after it.
func (t *sglangTrimmer) array(c byte) bool {
	switch {
	case t.quoted:
		t.quoted = t.escaped || c != '"'
		t.escaped = !t.escaped && c == '\\'
	case c == '"':
		t.quoted, t.begun = true, true
	case c == '[' || c == '{':
		t.nesting++
		t.begun = true
	case c == ']' && t.nesting == 0:
		t.endElement()
		t.state = trimOutside
		return true
	case c == ']' || c == '}':
		t.nesting--
	case c == ',' && t.nesting == 0:
		t.endElement()
		if t.element == t.skip {
			t.state = trimOutside
		}
	case c != ' ' && c != '\t':
		t.begun = true
	}
	return false
}

// endElement counts the element that has been left out, if there is one.
func (t *sglangTrimmer) endElement() {
	if t.state != trimArray || !t.begun {
		return
	}
	t.begun = false
	t.element++
	if t.ids {
		t.dropped++
	}
}
