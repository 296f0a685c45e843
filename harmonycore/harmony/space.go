package harmony

// isSpace is equal to [unicode.IsSpace]. That function reads a table. In the filter's memory, TinyGo's collector would
// take the table's numbers for pointers.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}
