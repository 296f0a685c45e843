package rawjson

import "math/bits"

// Eight bytes are looked at together: a byte of each of these words, and arithmetic that sets the highest bit of a byte.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// load64 reads eight bytes at i; the caller has checked that they are there.
func load64(data []byte, i int) uint64 {
	b := data[i : i+8 : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// zeros has the highest bit set of the first byte of w that is zero, and perhaps of later ones.
func zeros(w uint64) uint64 { return (w - ones) &^ w & highs }

// plain is the first place from i on that is no printable ASCII, a quote or a backslash, or the end of data: what stands
// before it in a string stands for itself.
func plain(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		w := load64(data, i)
		found := zeros(w^ones*'"') | zeros(w^ones*'\\') | (w-ones*' ')&^w&highs | w&highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	for i < len(data) && data[i] >= ' ' && data[i] < 0x80 && data[i] != '"' && data[i] != '\\' {
		i++
	}
	return i
}

// quote is the place of the quote that ends the string which has begun before i, or the end of data. It looks for quotes
// alone, and at the backslashes before each: text with an escape in every word costs no more than any other.
func quote(data []byte, i int) int {
	begin := i // what stands before it escapes nothing after it
	for i < len(data) {
		if i+8 <= len(data) {
			found := zeros(load64(data, i) ^ ones*'"')
			if found == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(found) >> 3
		}
		if data[i] != '"' {
			i++
			continue
		}
		slash := i
		for slash > begin && data[slash-1] == '\\' {
			slash--
		}
		if (i-slash)&1 == 0 {
			return i
		}
		// Escapes often stand in a row.
		for i++; i < len(data) && data[i] == '\\'; i += 2 {
		}
		begin = i
	}
	return len(data)
}

// escape is the place of the first backslash from i on, or the end of data.
func escape(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		if found := zeros(load64(data, i) ^ ones*'\\'); found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	for i < len(data) && data[i] != '\\' {
		i++
	}
	return i
}

// Space is the first place from i on that is no white space, or the end of data.
func Space(data []byte, i int) int {
	for i < len(data) {
		switch data[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// Skip is the end of the value that begins at i in data, which Validate has accepted; of other data it is some place that is
// not before i. It neither recurses nor takes memory.
func Skip(data []byte, i int) int {
	if i >= len(data) {
		return i
	}
	switch data[i] {
	case '"':
		return min(quote(data, i+1)+1, len(data))
	case '{', '[':
		return skipNested(data, i)
	}
	for i < len(data) {
		switch data[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

// skipNested is Skip for an object or an array.
func skipNested(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = quote(data, i+1)
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		default:
			if i+8 > len(data) {
				break
			}
			// A bracket and a brace differ in one bit.
			w := load64(data, i)
			both := w | ones*0x20
			if found := zeros(w^ones*'"') | zeros(both^ones*'{') | zeros(both^ones*'}'); found != 0 {
				i += bits.TrailingZeros64(found) >> 3
			} else {
				i += 8
			}
			continue
		}
		i++
	}
	return len(data)
}
