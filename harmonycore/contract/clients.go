package contract

// AnonymousClient is the name of the clients whose requests have no key, where keys are not required. They are counted
// together.
const AnonymousClient = "anonymous"

// MaxClientName is the greatest length of a client's name, in bytes.
const MaxClientName = 64

// ValidClient reports whether s can be a client's name: it is a header's value and stands in logs and metrics.
func ValidClient(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '.', c == '_', c == '-', c == '@', c == ':', c == '/', c == '+':
		default:
			return false
		}
	}
	return s != "" && len(s) <= MaxClientName
}
