package harmony

import (
	"strconv"
	"unicode/utf8"
)

// appendRustDebug appends s quoted as in the reference's error texts: as Rust's Debug format prints a string.
func appendRustDebug(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == 0:
			dst = append(dst, `\0`...)
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case isRustEscaped(r):
			dst = append(strconv.AppendInt(append(dst, `\u{`...), int64(r), 16), '}')
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// isRustEscaped reports whether Rust's Debug format escapes r. It scans the whole table: only rare error texts need it.
func isRustEscaped(r rune) bool {
	if r >= ' ' && r <= '~' {
		return false
	}
	end := rune(0)
	for at := 0; at < len(rustEscaped); {
		var gap, length rune
		gap, at = tableVarint(at)
		length, at = tableVarint(at)
		if r < end+gap {
			return false
		}
		if end += gap + length; r < end {
			return true
		}
	}
	return false
}

func tableVarint(at int) (value rune, next int) {
	for shift := 0; at < len(rustEscaped); shift += 7 {
		b := rustEscaped[at]
		at++
		value |= rune(b&0x7F) << shift
		if b < 0x80 {
			break
		}
	}
	return value, at
}
