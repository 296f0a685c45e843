package harmony

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// headerBuffer collects a header: the text of its ordinary tokens, and the places of its control tokens. So a control
// token that was typed out as text never counts here, unlike in the strict parser.
type headerBuffer struct {
	text []byte
	// ends holds the end of each ordinary token in text.
	ends []int
	// numbers holds the index of each of those tokens in the stream. taken is the number of tokens read from the stream.
	numbers []int
	taken   int
	marks   []headerMark
	// tokens counts ordinary and control tokens. A bytewise buffer has no ends: there bytesPerToken bytes count as a
	// token.
	tokens   int
	bytewise bool
	explicit bool
	// plain is the buffer of plainText.
	plain []byte
}

type headerMark struct {
	id uint32
	at int
}

func (b *headerBuffer) reset(explicit bool) {
	b.text = b.text[:0]
	b.ends = b.ends[:0]
	b.numbers = b.numbers[:0]
	b.marks = b.marks[:0]
	b.tokens = 0
	b.explicit = explicit
}

func (b *headerBuffer) add(text []byte) {
	b.text = append(b.text, text...)
	if !b.bytewise {
		b.ends = append(b.ends, len(b.text))
		b.numbers = append(b.numbers, b.taken-1)
	}
	b.tokens = b.tokensOf(b.text, len(b.ends), len(b.marks))
}

// tokensOf returns the number of tokens in a header with this text and these numbers of ordinary and control tokens.
func (b *headerBuffer) tokensOf(text []byte, ordinary, control int) int {
	if b.bytewise {
		ordinary = (len(text) + bytesPerToken - 1) / bytesPerToken
	}
	return ordinary + control
}

// cut drops the text from the byte at on. The tokens that it came from still count.
func (b *headerBuffer) cut(at int) {
	b.text = b.text[:at]
	for i := range b.ends {
		b.ends[i] = min(b.ends[i], at)
	}
}

func (b *headerBuffer) mark(id uint32) {
	b.marks = append(b.marks, headerMark{id, len(b.text)})
	b.tokens++
}

func (b *headerBuffer) empty() bool { return b.tokens == 0 }

func (b *headerBuffer) full() bool { return b.tokens >= MaxHeaderTokens }

// headless reports whether no control token stands before the text or in it, so that only the words can make it a
// header.
func (b *headerBuffer) headless() bool { return !b.explicit && len(b.marks) == 0 }

func (b *headerBuffer) hasRecipient() bool { return bytes.Contains(b.text, []byte(recipientMark)) }

func (b *headerBuffer) onlyRoles() bool { return len(cutRoles(b.text)) == 0 }

// trimSpace and the functions below work on bytes without allocating: they see every token of a headless text.
func trimSpace(b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if !isSpace(r) {
			break
		}
		b = b[n:]
	}
	return b
}

// cutRoles cuts role words off the front of b, whether spaces separate them or not.
func cutRoles(b []byte) []byte {
	for {
		b = trimSpace(b)
		before := len(b)
		for _, word := range roleWords {
			if hasPrefix(b, word) {
				b = b[len(word):]
			}
		}
		if len(b) == before {
			return b
		}
	}
}

func hasPrefix(b []byte, word string) bool { return len(b) >= len(word) && prefixesMatch(b, word) }

// isProperPrefix reports whether b, possibly empty, is a beginning of word but not the whole word.
func isProperPrefix(b []byte, word string) bool { return len(b) < len(word) && prefixesMatch(b, word) }

// prefixesMatch reports whether b and word are equal up to the end of the shorter one. It compares bytes because a
// conversion to string might allocate under TinyGo.
func prefixesMatch(b []byte, word string) bool {
	for i := range min(len(b), len(word)) {
		if b[i] != word[i] {
			return false
		}
	}
	return true
}

var channelWords = [...]string{Analysis, Commentary, Final}

// typeWords are the content types that models write.
var typeWords = [...]string{"json", "code"}

// mayBeHeader reports whether text may still become a header that lost its start token: role words, a channel's name, a
// content type and a recipient, in this order.
func mayBeHeader(text []byte) bool {
	b := cutRoles(text)
	for _, word := range roleWords {
		if isProperPrefix(b, word) {
			return true
		}
	}
	for _, words := range [...][]string{channelWords[:], typeWords[:]} {
		for _, word := range words {
			if isProperPrefix(b, word) {
				return true
			}
			if hasPrefix(b, word) {
				b = trimSpace(b[len(word):])
				break
			}
		}
	}
	return isProperPrefix(b, recipientMark) || hasPrefix(b, recipientMark) || !utf8.FullRune(b) // it may become a space
}

type channelGuess uint8

const (
	mayBeChannel channelGuess = iota
	isChannel
	notChannel
)

// channelBegins decides what the text after a channel token inside content is.
func channelBegins(text []byte) channelGuess {
	b := trimSpace(text)
	guess := notChannel
	for _, word := range channelWords {
		if hasPrefix(b, word) {
			return isChannel
		}
		if isProperPrefix(b, word) {
			guess = mayBeChannel
		}
	}
	return guess
}

// read reads the header. With salvage set, end ended the header in place of a message token; from is then where the
// fields stop and content begins.
func (b *headerBuffer) read(salvage bool, end End, seen *Recoveries) (h Header, from int) {
	r := headerReader{recoveries: seen, recovering: salvage, explicit: b.explicit, rest: -1, size: len(b.text)}
	r.cut, r.called = end == Cut, end == EndedByCall
	for _, m := range b.marks {
		r.named = r.named || m.id == tokenizer.Channel
	}
	text := b.plainText()
	at, kind := 0, uint32(0)
	for _, m := range b.marks {
		r.readSection(kind, text[at:m.at], at)
		at, kind = m.at, m.id
	}
	r.readSection(kind, text[at:], at)
	r.finish()
	if r.rest < 0 {
		r.rest = len(b.text)
	}
	return r.h, r.rest
}

// proseWords is the number of words outside fields that make a header an answer that lost its message token.
const proseWords = 3

// isProse reports whether the text so far is an answer rather than a header. Then a new header must not replace it.
func (b *headerBuffer) isProse() bool {
	if !hasWords(b.text, proseWords) {
		return false
	}
	var unseen Recoveries
	_, from := b.read(true, EndedByEnd, &unseen)
	return hasWords(b.text[min(from, len(b.text)):], proseWords)
}

// answerEnd returns the index of the first channel token that follows words of an answer, or -1. In a header with a
// recipient, text before the channel is not an answer.
func (b *headerBuffer) answerEnd() int {
	for i, m := range b.marks {
		if m.id != tokenizer.Channel {
			continue
		}
		front := b.before(i)
		var unseen Recoveries
		if h, from := front.read(true, EndedByEnd, &unseen); from < m.at && h.Recipient == "" {
			return i
		}
	}
	return -1
}

// before returns the header up to its control token i. The result shares b's memory.
func (b *headerBuffer) before(i int) headerBuffer {
	front := *b
	at := b.marks[i].at
	front.text, front.marks = b.text[:at], b.marks[:i]
	n := 0
	for n < len(b.ends) && b.ends[n] <= at {
		n++
	}
	front.ends, front.numbers = b.ends[:n], b.numbers[:n]
	front.tokens = b.tokensOf(front.text, n, i)
	return front
}

// drop removes everything before the control token i.
func (b *headerBuffer) drop(i int) {
	at := b.marks[i].at
	n := 0
	for n < len(b.ends) && b.ends[n] <= at {
		n++
	}
	b.text = slices.Delete(b.text, 0, at)
	b.ends = slices.Delete(b.ends, 0, n)
	b.numbers = slices.Delete(b.numbers, 0, n)
	b.marks = slices.Delete(b.marks, 0, i)
	for j := range b.ends {
		b.ends[j] -= at
	}
	for j := range b.marks {
		b.marks[j].at -= at
	}
	b.explicit = false
	b.tokens = b.tokensOf(b.text, len(b.ends), len(b.marks))
}

// hasWords reports whether b has n words or more.
func hasWords(b []byte, n int) bool {
	inWord := false
	for i := 0; i < len(b) && n > 0; i++ {
		space := isASCIISpace(b[i])
		if !space && !inWord {
			n--
		}
		inWord = !space
	}
	return n <= 0
}

// plainText returns the header's text as a string of the same length, so that offsets stay right. Between two control
// tokens it replaces a bad byte by a question mark and any Unicode space by plain spaces, since any of them ends a
// word.
func (b *headerBuffer) plainText() string {
	b.plain = append(b.plain[:0], b.text...)
	at := 0
	for _, m := range b.marks {
		makePlain(b.plain[at:m.at])
		at = m.at
	}
	makePlain(b.plain[at:])
	return string(b.plain)
}

func makePlain(b []byte) {
	for at := 0; at < len(b); {
		r, n := utf8.DecodeRune(b[at:])
		switch {
		case r == utf8.RuneError && n <= 1:
			b[at] = '?'
		case isSpace(r):
			for i := range b[at : at+n] {
				b[at+i] = ' '
			}
		}
		at += max(n, 1)
	}
}
