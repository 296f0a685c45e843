package harmony

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// headerReader reads one header leniently: it takes from each section what it can.
type headerReader struct {
	h          Header
	recoveries *Recoveries
	// words are the words that no rule has taken yet. unknown is a first word that is not a role.
	words      []string
	unknown    string
	recovering bool
	explicit   bool
	// cut and called report how a header ended that is salvaged: cut off, or with a call.
	cut, called bool
	// named reports whether the header has a channel token.
	named bool
	// channels is the number of channel sections read.
	channels int
	// rest is where content begins, or -1 if no content has begun.
	rest int
	size int
}

func (r *headerReader) readSection(kind uint32, s string, at int) {
	switch kind {
	case tokenizer.Channel:
		r.channel(s, at)
	case tokenizer.Constrain:
		if r.rest < 0 {
			r.contentType(s, at)
		}
	default:
		r.role(s, at)
	}
}

func (r *headerReader) role(s string, at int) {
	r.h.Role = Assistant
	full := s
	word, rest := cutWord(s)
	role, name, tail, ok := readRole(word)
	_, glued, channel := cutKnownChannel(word)
	switch {
	case ok:
		r.h.Role, r.h.Name = role, name
		if !r.explicit {
			break // counted below: a role is here only if the start token is lost or doubled
		}
		if tail != "" {
			r.recoveries[RepairedRole]++
		}
		s = tail + rest
	case !r.explicit:
	case word == "", strings.HasPrefix(word, recipientMark), channel && glued == "" && !r.recovering:
		r.recoveries[RepairedRole]++
	case r.recovering:
		size := r.toolSize(word, rest)
		if size == 0 {
			r.content(at+len(full)-len(rest)-len(word), word)
			return
		}
		r.unknown, s = word[:size], word[size:]+rest
	default:
		r.unknown, s = word, rest
	}
	for {
		word, rest := cutWord(s)
		role, _, tail, ok := readRole(word)
		if !ok || role != r.h.Role {
			break
		}
		r.recoveries[RepairedRole]++
		s = tail + rest
	}
	if word, rest := cutWord(s); !r.named && word != "" {
		if name, tail, ok := cutKnownChannel(word); ok && (tail == "" || r.recovering && !isLower(tail[0])) {
			r.recoveries[RepairedChannel]++
			r.h.Channel = name
			s = tail + rest
		}
	}
	r.readWords(s, at+len(full)-len(s))
}

// toolSize returns the size of a tool's name that stands in the role's place of a header without a message token, or 0.
// Such a name looks like the first word of an answer. Two things show that it is a name: what follows it, or that a
// call ended the message.
func (r *headerReader) toolSize(word, rest string) int {
	size := len(word)
	if i := strings.IndexAny(word, "{["); i >= 0 {
		size = i
	}
	follows := strings.TrimLeft(word[size:]+rest, " ")
	switch {
	case startsRecipient(follows) && isName(word[:size]) && word[size-1] != '.':
		return size
	case !isToolName(word[:size]):
		return 0
	case r.called, r.named && follows == "", follows != "" && (follows[0] == '{' || follows[0] == '['):
		return size
	default:
		return 0
	}
}

func startsRecipient(s string) bool {
	word, _ := cutWord(s)
	return strings.HasPrefix(word, recipientMark)
}

// readRole reads a role word with the name that may follow it. tail is a further field that is glued to it.
func readRole(word string) (role Role, name, tail string, ok bool) {
	for role = User; role <= Tool; role++ {
		rest, found := strings.CutPrefix(word, role.String())
		if !found {
			continue
		}
		name, named := strings.CutPrefix(rest, nameMark)
		if named {
			return role, name, "", true
		}
		if name = ""; role == Tool {
			name = role.String()
		}
		return role, name, rest, rest == "" || isField(rest)
	}
	return 0, "", "", false
}

// isField reports whether s begins with a field that lost the space before it. A word that only begins like a role
// ("tools.search") does not count.
func isField(s string) bool {
	for role := User; role <= Tool; role++ {
		if strings.HasPrefix(s, role.String()) {
			return true
		}
	}
	_, _, channel := cutKnownChannel(s)
	return channel || strings.HasPrefix(s, recipientMark)
}

func cutKnownChannel(s string) (name, tail string, ok bool) {
	for _, word := range channelWords {
		if tail, ok = strings.CutPrefix(s, word); ok {
			return word, tail, true
		}
	}
	return "", s, false
}

func (r *headerReader) channel(s string, at int) {
	if r.channels++; r.channels > 1 {
		r.restart()
	}
	full := s
	s = strings.TrimLeft(s, " ")
	name, rest := cutChannelName(s)
	if i := strings.Index(name, recipientMark); i >= 0 {
		r.recoveries[RepairedChannel]++
		name, rest = name[:i], s[i:]
	}
	known, tail, ok := cutKnownChannel(name)
	if !ok && !r.recovering {
		known, _, ok = cutKnownChannel(lowerASCII(name))
		tail = name
	}
	switch {
	case name == "" && len(rest) == len(s):
		r.recoveries[RepairedChannel]++
	case name == "":
	case ok:
		if tail != "" {
			r.recoveries[RepairedChannel]++
		}
		r.h.Channel = known
		if r.recovering {
			rest = tail + rest
		}
	case r.recovering:
		r.content(at+len(full)-len(s), name)
		return
	case r.h.Recipient == "" && isToolName(name):
		r.recoveries[RepairedChannel]++
		r.recipient(name)
	default:
		r.recoveries[UnknownChannel]++
		r.h.Channel = name
	}
	r.readWords(rest, at+len(full)-len(rest))
}

func lowerASCII(s string) string {
	out := []byte(s)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// restart begins the channel section again. It keeps a recipient, unless the recipient is only a role.
func (r *headerReader) restart() {
	r.recoveries[DoubledChannel]++
	r.words = r.words[:0]
	r.rest = -1
	if RoleOf(r.h.Recipient) != 0 {
		r.h.Recipient = ""
	}
}

func (r *headerReader) contentType(s string, at int) {
	if r.recovering {
		r.readWords(s, at) // a word that is not a known type is as likely the first word of the answer
		return
	}
	word, rest := cutWord(s)
	if word != "" {
		r.h.ContentType = word
	}
	r.readWords(rest, at+len(s)-len(rest))
}

func isLetter(c byte) bool { return isLower(c | 0x20) }

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

// readWords takes recipients, and keeps the other words of a section for finish. When salvaging, the first other word
// is content.
func (r *headerReader) readWords(s string, at int) {
	if r.rest >= 0 {
		return
	}
	full := s
	for {
		var word string
		if word, s = cutWord(s); word == "" {
			return
		}
		place := at + len(full) - len(s) - len(word)
		recipient, marked := strings.CutPrefix(word, recipientMark)
		switch {
		case marked:
			if recipient == "" {
				r.recoveries[RepairedRecipient]++
				if next, after := cutWord(s); !r.recovering || isToolName(next) {
					recipient, s = next, after
				}
			}
			if i := strings.IndexAny(recipient, "{["); r.recovering && i >= 0 {
				s = recipient[i:] + s
				recipient = recipient[:i]
			}
			r.recipient(recipient)
		case !r.recovering && word == r.h.Role.String():
			// The reference too skips the role's word wherever it first occurs.
		case !r.recovering:
			r.words = append(r.words, word)
		default:
			typ := cutType(word)
			if typ == "" {
				r.content(place, word)
				return
			}
			r.h.ContentType = typ
			s = word[len(typ):] + s
		}
	}
}

// cutType returns the known content type that word is, or that is glued to the content after it. It returns "" for any
// other word.
func cutType(word string) string {
	for _, typ := range typeWords {
		if rest, ok := strings.CutPrefix(word, typ); ok &&
			(rest == "" || rest[0] == '{' || rest[0] == '[' || rest[0] == '"') {
			return typ
		}
	}
	return ""
}

// content begins content at a word, unless the stream was cut off inside that word and it may be the beginning of a
// field.
func (r *headerReader) content(at int, word string) {
	if r.cut && at+len(word) == r.size && isFieldFragment(word) {
		return
	}
	if r.rest < 0 {
		r.rest = at
	}
}

func isFieldFragment(word string) bool {
	for _, list := range [...][]string{roleWords[User:], channelWords[:], {recipientMark, "json", "code"}} {
		for _, field := range list {
			if strings.HasPrefix(field, word) {
				return true
			}
		}
	}
	return false
}

func (r *headerReader) recipient(name string) {
	clean, _, marker := strings.Cut(name, "<|")
	if marker || len(r.words) > 0 || r.h.ContentType != "" || r.h.Recipient != "" && r.h.Recipient != clean {
		r.recoveries[RepairedRecipient]++
	}
	if clean != "" {
		r.h.Recipient = clean
	}
}

// finish assigns the remaining words: to the content type, to a recipient without its mark, or to a tool's name.
func (r *headerReader) finish() {
	if n := len(r.words); n > 0 && r.h.ContentType == "" && isLetter(r.words[n-1][0]) &&
		(n > 1 || r.h.Recipient != "" || !isToolName(r.words[0])) {
		r.h.ContentType = r.words[n-1]
		r.words = r.words[:n-1]
	}
	if n := len(r.words); n > 0 && r.h.Recipient == "" && isName(r.words[n-1]) {
		r.h.Recipient = r.words[n-1]
		r.words = r.words[:n-1]
	}
	if r.unknown != "" {
		r.author()
	}
	if len(r.words) > 0 {
		r.recoveries[LooseWords]++
	}
}

// author decides about a header whose first word is not a role. A tool's answer has the tool's name there, and a
// recipient.
func (r *headerReader) author() {
	switch {
	case r.h.Recipient == Assistant.String(), r.h.Recipient != "" && isToolName(r.unknown):
		r.h.Role, r.h.Name = Tool, r.unknown
	default:
		r.recoveries[RepairedRole]++
		if r.h.Recipient == "" && isToolName(r.unknown) {
			r.h.Recipient = r.unknown
		}
	}
}

// isToolName reports whether s is a name with a namespace. A bare word could also be a content type or end a sentence.
func isToolName(s string) bool {
	dot := strings.IndexByte(s, '.')
	return dot > 0 && s[len(s)-1] != '.' && isLetter(s[0]) && isName(s)
}

func isName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isNameByte(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '_' || c == '-' || c == '.' || c == ':' || c == '/'
}
