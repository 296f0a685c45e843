package chatserver

import (
	"slices"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Spellings are the texts that the tokenizer of a model reads as control tokens. A server that renders conversations
// reads them so in the text of a request, too.
type Spellings struct {
	// list is sorted. from has the index of the first text of list that begins with a byte or a later one.
	list []string
	from [257]int
	// patterns reports whether texts count that have the form of most families' control tokens, such as <|im_end|>.
	patterns bool
	// ofAnswers are spellings that the text of an assistant may have: the marks of calls and of reasoning. An assistant's
	// message may have calls and reasoning anyway.
	ofAnswers []string
}

// families are control tokens of models that have another form than the patterns. <s> and </s> are not among them: they
// are HTML, too.
var families = [...]string{
	"[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]",
	"[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[ARGS]", "[CALL_ID]", "[MODEL_SETTINGS]", "[/MODEL_SETTINGS]",
	"[gMASK]", "[sMASK]", "<sop>", "<eop>", "<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "]~b]", "]~!b[", "[e~[",
	"｜DSML｜",
}

// NewSpellings returns the spellings of a model's control tokens. An empty list stands for those of all families, and for
// calls and turns. Calls are the marks of the model's calls, and turns those of its turns.
func NewSpellings(list, calls, turns []string) *Spellings {
	s := &Spellings{ofAnswers: append([]string{"<think>", "</think>"}, calls...)}
	if len(list) == 0 {
		s.patterns = true
		list = slices.Concat(families[:], calls, turns)
	}
	for _, text := range list {
		if contract.ValidSpelling(text) {
			s.list = append(s.list, text)
		}
	}
	slices.Sort(s.list)
	n := 0
	for first := range s.from {
		for n < len(s.list) && int(s.list[n][0]) < first {
			n++
		}
		s.from[first] = n
	}
	return s
}

// match returns the length of the longest spelling with which text begins, or 0.
func (s *Spellings) match(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	size := 0
	if s.patterns {
		size = matchPattern(text)
	}
	lo, hi := s.from[text[0]], s.from[int(text[0])+1]
	for n := 1; lo < hi; n++ {
		for lo < hi && len(s.list[lo]) == n {
			size = max(size, n)
			lo++
		}
		if n == len(text) {
			break
		}
		lo = s.bound(lo, hi, n, int(text[n]))
		hi = s.bound(lo, hi, n, int(text[n])+1)
	}
	return size
}

// bound returns the first index from lo to hi whose text has a byte of at least least at the place n. All those texts
// are longer than n, and have the same beginning.
func (s *Spellings) bound(lo, hi, n, least int) int {
	for lo < hi {
		if mid := lo + (hi-lo)/2; int(s.list[mid][n]) < least {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// matchPattern returns the length of the control token with which text begins, if it has the form of most families':
// <|name|> or <｜name｜>.
func matchPattern(text []byte) int {
	if text[0] != '<' {
		return 0
	}
	bar := ""
	switch {
	case hasPrefix(text[1:], "|"):
		bar = "|"
	case hasPrefix(text[1:], "｜"):
		bar = "｜"
	default:
		return 0
	}
	i := 1 + len(bar)
	for begun := i; i < len(text) && i < contract.MaxSpelling; {
		if i > begun && hasPrefix(text[i:], bar) {
			if end := i + len(bar); end < len(text) && text[end] == '>' {
				return end + 1
			}
			return 0
		}
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '/', c == '.':
			i++
		case hasPrefix(text[i:], "▁"):
			i += len("▁")
		default:
			return 0
		}
	}
	return 0
}

func hasPrefix(text []byte, prefix string) bool {
	return len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix
}

// mayBegin reports whether a spelling may begin with this byte.
func (s *Spellings) mayBegin(c byte) bool {
	return s.from[c] < s.from[int(c)+1] || s.patterns && c == '<'
}

// find returns the place of the first spelling in text from the place from on, or -1. In the text of an assistant the
// marks of answers do not count.
func (s *Spellings) find(text []byte, from int, assistant bool) int {
	for i := from; i < len(text); i++ {
		if !s.mayBegin(text[i]) {
			continue
		}
		if n := s.match(text[i:]); n > 0 && (!assistant || !s.isOfAnswers(text[i:i+n])) {
			return i
		}
	}
	return -1
}

// Spells reports whether a text spells a control token.
func (s *Spellings) Spells(text []byte) bool { return s.find(text, 0, false) >= 0 }

func (s *Spellings) isOfAnswers(text []byte) bool {
	for _, mark := range s.ofAnswers {
		if string(text) == mark {
			return true
		}
	}
	return false
}

// breaker is U+200B, a space without width. Behind the first character of a spelling it makes the spelling ordinary
// text that looks the same.
const breaker = "\u200b"

// appendBroken appends a text as the inside of a JSON string, with all spellings broken. broken is how many there were.
func (s *Spellings) appendBroken(dst, text []byte, assistant bool) (out []byte, broken int) {
	from := 0
	for at := s.find(text, 0, assistant); at >= 0; at = s.find(text, from, assistant) {
		_, first := utf8.DecodeRune(text[at:])
		dst = append(rawjson.AppendEscaped(dst, rawjson.View(text[from:at+first])), breaker...)
		from = at + first
		broken++
	}
	return rawjson.AppendEscaped(dst, rawjson.View(text[from:])), broken
}
