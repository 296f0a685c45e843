package harmony

import (
	"strconv"
	"unicode"
)

// appendRustDebug appends s as Rust prints a string for debugging.
func appendRustDebug(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == 0:
			dst = append(dst, `\0`...)
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case unicode.IsPrint(r):
			dst = append(dst, string(r)...)
		default:
			dst = append(strconv.AppendInt(append(dst, `\u{`...), int64(r), 16), '}')
		}
	}
	return append(dst, '"')
}
