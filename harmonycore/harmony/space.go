package harmony

// isSpace is unicode.IsSpace. That one reads a table, which the filter would have among its variables, where TinyGo's
// collector takes the table's numbers for pointers.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}
