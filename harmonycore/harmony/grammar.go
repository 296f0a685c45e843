package harmony

import "github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"

// This file holds the words of the header grammar, which the renderer, the strict parser and the tolerant parser share:
//
//	header  = START ( role [":" name] | name ) [" to=" recipient] [CHANNEL channel] [type] MESSAGE
//	type    = " " [CONSTRAIN] text
//	message = header content ( END | RETURN | CALL )
const (
	recipientMark = "to="
	nameMark      = ":"
	// everyone is the recipient that the renderer leaves out (docs/harmony-format.md#messages).
	everyone = "all"

	channelSpelling   = "<|channel|>"
	constrainSpelling = "<|constrain|>"
	// functionsNamespace holds the tools that a client declares. The system message tells the model how to call them.
	functionsNamespace = "functions"
)

var roleWords = [...]string{User: "user", Assistant: "assistant", System: "system", Developer: "developer",
	Tool: "tool"}

// roleNames are the roles as the reference's error texts spell them.
var roleNames = [...]string{User: "User", Assistant: "Assistant", System: "System", Developer: "Developer",
	Tool: "Tool"}

// String returns the role's word in a header, or "" for an unknown role.
func (r Role) String() string {
	if int(r) < len(roleWords) {
		return roleWords[r]
	}
	return ""
}

func (r Role) name() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return ""
}

// RoleOf returns the role that word names in a header or in JSON, or the zero [Role] for any other word.
func RoleOf(word string) Role {
	for r := User; r <= Tool; r++ {
		if roleWords[r] == word {
			return r
		}
	}
	return 0
}

// endOf returns how the token id ends a message, and reports whether it ends one.
func endOf(id uint32) (End, bool) {
	switch id {
	case tokenizer.End:
		return EndedByEnd, true
	case tokenizer.Return:
		return EndedByReturn, true
	case tokenizer.Call:
		return EndedByCall, true
	}
	return Cut, false
}

// isASCIISpace reports whether c separates the parts of a header (docs/harmony-format.md#headers). VT and NBSP do not.
func isASCIISpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'
}

// cutWord returns the first word of s and the text after it.
func cutWord(s string) (word, rest string) {
	from := 0
	for from < len(s) && isASCIISpace(s[from]) {
		from++
	}
	to := from
	for to < len(s) && !isASCIISpace(s[to]) {
		to++
	}
	return s[from:to], s[to:]
}

// appendWords appends the words of s to dst.
func appendWords(dst []string, s string) []string {
	for {
		var word string
		if word, s = cutWord(s); word == "" {
			return dst
		}
		dst = append(dst, word)
	}
}
