package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// A gap is a place in the frame with a value that differs.
type gap struct {
	from, to int
	use      gapUse
}

// gapUse is what a value in a gap means.
type gapUse uint8

const (
	// gapIDs is an array of token ids, for [Event.Tokens].
	gapIDs gapUse = iota
	// gapText is a string, for [Event.Text].
	gapText
	// gapIgnored is a string without a meaning.
	gapIgnored
	// gapIgnoredNumber is a number without a meaning.
	gapIgnoredNumber
	// gapIndex is a number, for [Event.Index].
	gapIndex
	// gapCounted is a number, for what follows the template ([eventStream]): the server's count of the choice's tokens.
	gapCounted
	// gapLogprobs is vLLM's logprobs object, for [Event.Logprobs]. gapNamedLogprobs is one whose names of tokens are for
	// [Event.Tokens].
	gapLogprobs
	gapNamedLogprobs
	// gapRepeatedIDs and gapRepeatedText are an array of ids and a text without a meaning, which may repeat what the last
	// event had ([repetition]).
	gapRepeatedIDs
	gapRepeatedText
	// gapSampledIDs is an array of token ids, for [Event.SampledIDs].
	gapSampledIDs
	// gapReasoning is a string for [Event.Reasoning], of which the first that is not empty counts.
	gapReasoning
	// gapArguments is a string, for [CallPiece.Arguments].
	gapArguments
	// gapTextLogprobs is the logprobs object of a Chat answer, for [Event.TextLogprobs].
	gapTextLogprobs
)

// generates reports whether the value is what was generated.
func (u gapUse) generates() bool {
	switch u {
	case gapIDs, gapRepeatedIDs, gapText, gapNamedLogprobs, gapReasoning, gapArguments:
		return true
	default:
		return false
	}
}

// logprobs reports whether the value has logprobs.
func (u gapUse) logprobs() bool {
	return u == gapLogprobs || u == gapNamedLogprobs || u == gapTextLogprobs
}

// maxGapDigits is the longest number that the fast way reads. It fits into every integer type.
const maxGapDigits = 9

// opens returns the first byte of a value for the gap. For a number it reports whether c is a digit.
func (u gapUse) opens(c byte) bool {
	switch u {
	case gapIDs, gapRepeatedIDs, gapSampledIDs:
		return c == '['
	case gapIgnoredNumber, gapIndex, gapCounted:
		return isDigit(c)
	case gapLogprobs, gapNamedLogprobs, gapTextLogprobs:
		return c == '{'
	default:
		return c == '"'
	}
}

// readGap reads the value at this position into e. It returns the position after the value, or -1 if no value of the
// gap's kind stands there.
func (t *template) readGap(use gapUse, b []byte, at int, e *Event) int {
	switch use {
	case gapIDs:
		return readGapIDs(b, at, &e.Tokens)
	case gapSampledIDs:
		e.listsIDs = true
		return readGapIDs(b, at, &e.SampledIDs)
	case gapRepeatedIDs:
		return t.repeated.readIDs(b, at, e)
	case gapRepeatedText:
		return t.repeated.readText(b, at)
	case gapIgnoredNumber:
		return skipDigits(b, at)
	case gapIndex:
		n, end := readDigits(b, at)
		e.Index = n
		return end
	case gapCounted:
		n, end := readDigits(b, at)
		e.counted = n
		return end
	case gapLogprobs, gapNamedLogprobs:
		return readGapLogprobs(b, at, e, use == gapNamedLogprobs)
	case gapTextLogprobs:
		return readGapTextLogprobs(b, at, e)
	default:
		return t.readGapString(use, b, at, e)
	}
}

// readGapString is readGap for strings.
func (t *template) readGapString(use gapUse, b []byte, at int, e *Event) int {
	end := rawjson.SkipString(b, at)
	if end < 0 {
		return -1
	}
	raw := b[at+1 : end-1]
	switch use {
	case gapText:
		e.Text = rawjson.AppendUnescaped(e.Text, raw)
	case gapReasoning:
		if len(e.Reasoning) == 0 {
			e.Reasoning = rawjson.AppendUnescaped(e.Reasoning, raw)
		}
	case gapArguments:
		e.Calls = append(e.Calls, CallPiece{Index: t.call, Arguments: e.keep(raw)})
	}
	return end
}

// readGapIDs reads an array of ids without white space.
func readGapIDs(b []byte, at int, ids *[]uint32) int {
	if byteAt(b, at) != '[' {
		return -1
	}
	if byteAt(b, at+1) == ']' {
		return at + 2
	}
	return readIDList(b, at+1, ids)
}

// readIDList reads the rest of an array of ids that begins at this position with an id.
func readIDList(b []byte, at int, ids *[]uint32) int {
	for {
		id, end := readDigits(b, at)
		if end < 0 {
			return -1
		}
		*ids = append(*ids, uint32(id))
		switch byteAt(b, end) {
		case ',':
			at = end + 1
		case ']':
			return end + 1
		default:
			return -1
		}
	}
}

// readDigits reads a number of up to [maxGapDigits] digits, and returns the position after it, or -1.
func readDigits(b []byte, at int) (n, end int) {
	if at >= len(b) {
		return 0, -1
	}
	size := 0
	for _, c := range b[at:] {
		digit := c - '0'
		if digit > 9 || size > maxGapDigits {
			break
		}
		n = n*10 + int(digit)
		size++
	}
	if size == 0 || size > maxGapDigits || size > 1 && b[at] == '0' {
		return 0, -1
	}
	return n, at + size
}

// skipDigits skips a number that has nothing but digits. It returns the position after it, or -1.
func skipDigits(b []byte, at int) int {
	end := at
	for end < len(b) && isDigit(b[end]) {
		end++
	}
	if end == at || b[at] == '0' && end > at+1 {
		return -1
	}
	return end
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
