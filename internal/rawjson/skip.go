package rawjson

import "math/bits"

// Eight bytes are examined at once. ones has the lowest bit of each byte set, highs the highest.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// load64 reads eight bytes at i, least significant byte first. The caller has checked that they exist.
func load64(data []byte, i int) uint64 {
	b := data[i : i+8 : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// zeros sets the highest bit of the first zero byte of w, and perhaps of later bytes.
func zeros(w uint64) uint64 { return (w - ones) &^ w & highs }

// plain returns the first position from i on whose byte is a quote, a backslash or not printable ASCII, or the end of
// data. In a string, all bytes before it stand for themselves.
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

// quote returns the position of the quote that ends the string that has begun before i, or the end of data. It searches
// for quotes and then checks the backslashes before each, so text with an escape in every word costs no more than any
// other.
func quote(data []byte, i int) int {
	begin := i // a backslash before this position escapes nothing after it
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
		// Escapes often follow each other directly.
		for i++; i < len(data) && data[i] == '\\'; i += 2 {
		}
		begin = i
	}
	return len(data)
}

// escape returns the position of the first backslash from i on, or the end of data.
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

// Space returns the first position from i on that is not white space, or the end of data.
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

// Skip returns the end of the value that begins at i in data, if [Validate] has accepted data. For other data it
// returns some position that is not before i. It does not recurse and does not allocate.
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

// skipNested is [Skip] for an object or an array.
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
			// An opening bracket and an opening brace differ in one bit, and so do the closing ones.
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
