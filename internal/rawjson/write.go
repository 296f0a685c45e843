package rawjson

import "unsafe"

// AppendInt appends v in decimal.
func AppendInt(dst []byte, v int64) []byte {
	switch {
	case v >= 0 && v < 1000:
		return appendFirst(dst, uint32(v))
	case v >= 0 && v < 1_000_000: // nearly all other numbers
		n := uint32(v)
		return append(appendFirst(dst, n/1000), triples[n%1000][:3]...)
	}
	var buf [20]byte
	at := len(buf)
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	for {
		at--
		buf[at] = byte('0' + u%10)
		if u /= 10; u == 0 {
			break
		}
	}
	if v < 0 {
		at--
		buf[at] = '-'
	}
	return append(dst, buf[at:]...)
}

// appendFirst appends the first digits of a number, which are a number n below 1,000.
func appendFirst(dst []byte, n uint32) []byte {
	zeros := 0
	if n < 100 {
		zeros = 1
		if n < 10 {
			zeros = 2
		}
	}
	return append(dst, triples[n][zeros:3]...)
}

// pairs are the numbers of two digits.
const pairs = "00010203040506070809" + "10111213141516171819" + "20212223242526272829" + "30313233343536373839" +
	"40414243444546474849" + "50515253545556575859" + "60616263646566676869" + "70717273747576777879" +
	"80818283848586878889" + "90919293949596979899"

// AppendString appends s as a JSON string. It escapes quotes, backslashes and control characters and copies everything
// else. Bytes that are not UTF-8 become U+FFFD, so the result is always valid JSON.
func AppendString(dst []byte, s string) []byte {
	return append(AppendEscaped(append(dst, '"'), s), '"')
}

const hexDigits = "0123456789abcdef"

// AppendEscaped appends s as [AppendString] does, without the quotes around it.
func AppendEscaped(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		if i = plain(unsafe.Slice(unsafe.StringData(s), len(s)), i); i >= len(s) {
			break
		}
		c := s[i]
		if c >= 0x80 {
			if n := runeLen(s[i:]); n > 0 {
				i += n
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		i++
		from = i
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			if c >= 0x80 {
				dst = append(dst, "\uFFFD"...)
			} else {
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
		}
	}
	return append(dst, s[from:]...)
}

// AppendValue appends v as JSON without white space, with its members in their order and its numbers as they were
// spelled. v must not be nested deeper than [Parse] allows, which bounds the recursion.
func AppendValue(dst []byte, v *Value) []byte {
	switch v.Kind {
	case Bool:
		if v.Bool {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case Number:
		return append(dst, v.Text...)
	case String:
		return AppendString(dst, v.Text)
	case Array:
		dst = append(dst, '[')
		for i := range v.Elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendValue(dst, &v.Elements[i])
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, v.Members[i].Key), ':')
			dst = AppendValue(dst, &v.Members[i].Value)
		}
		return append(dst, '}')
	default:
		return append(dst, "null"...)
	}
}

// AppendCompact appends the JSON text raw without the white space between its tokens. It never writes beyond what it
// has read, so dst may share raw's memory.
func AppendCompact(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		end := i + 1
		switch raw[i] {
		case ' ', '\t', '\n', '\r':
			i++
			continue
		case '"':
			end = Skip(raw, i)
		}
		dst = append(dst, raw[i:end]...)
		i = end
	}
	return dst
}
