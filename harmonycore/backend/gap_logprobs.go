package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// logprobsPart is a member of vLLM's logprobs object.
type logprobsPart uint8

const (
	partOffsets logprobsPart = iota
	partNames
	partLogprobs
	partTop
	logprobsParts
)

// logprobsKeys are the members' names, with the colon after each.
var logprobsKeys = [logprobsParts][]byte{
	[]byte(`"text_offset":`), []byte(`"tokens":`), []byte(`"token_logprobs":`), []byte(`"top_logprobs":`),
}

// quotedTokenID is how the name of a token begins that is its id.
var quotedTokenID = []byte(`"token_id:`)

// readGapLogprobs reads the logprobs object at this position, as [readLogprobs] describes it. If named, the tokens' names
// are their ids. It returns the position after the object. It returns -1 for an object without white space, with
// other members, in which a member comes twice, or in which alternatives come before the tokens they belong to.
func readGapLogprobs(b []byte, at int, e *Event, named bool) int {
	var seen [logprobsParts]bool
	for next := byte('{'); byteAt(b, at) == next; next = ',' {
		at++
		part, end := logprobsPart(0), -1
		for ; part < logprobsParts; part++ {
			if end = rawjson.After(b, at, logprobsKeys[part]); end >= 0 {
				break
			}
		}
		if end < 0 || seen[part] || part == partTop && !seen[partLogprobs] {
			return -1
		}
		seen[part] = true
		if at = readLogprobsPart(b, end, e, part, named); at < 0 {
			return -1
		}
	}
	if byteAt(b, at) != '}' || named && !seen[partNames] {
		return -1
	}
	return at + 1
}

// readLogprobsPart reads the array of a member at this position. It returns the position after it, or -1.
func readLogprobsPart(b []byte, at int, e *Event, part logprobsPart, named bool) int {
	if byteAt(b, at) != '[' {
		return -1
	}
	if byteAt(b, at+1) == ']' {
		return at + 2
	}
	next := byte('[')
	for i := 0; byteAt(b, at) == next; i++ {
		at++
		switch part {
		case partOffsets:
			_, at = readDigits(b, at)
		case partNames:
			var id uint32
			if id, at = readTokenID(b, at); named && at >= 0 {
				e.Tokens = append(e.Tokens, id)
			}
		case partLogprobs:
			end := rawjson.SkipNumber(b, at)
			if end >= 0 {
				e.Logprobs = appendLogprob(e.Logprobs, b[at:end])
			}
			at = end
		default:
			if i >= len(e.Logprobs) {
				return -1
			}
			at = readTop(b, at, &e.Logprobs[i])
		}
		if at < 0 {
			return -1
		}
		next = ','
	}
	if byteAt(b, at) != ']' {
		return -1
	}
	return at + 1
}

// readTop reads an object whose members are a token's alternatives. It returns the position after it, or -1.
func readTop(b []byte, at int, l *TokenLogprob) int {
	for next := byte('{'); byteAt(b, at) == next; next = ',' {
		id, colon := readTokenID(b, at+1)
		if colon < 0 || byteAt(b, colon) != ':' {
			return -1
		}
		end := rawjson.SkipNumber(b, colon+1)
		if end < 0 {
			return -1
		}
		l.Top = appendAlternative(l.Top, Alternative{ID: id, Logprob: b[colon+1 : end]})
		at = end
	}
	if byteAt(b, at) != '}' {
		return -1
	}
	return at + 1
}

// readTokenID reads the name of a token that is its id. It returns the position after it, or -1.
func readTokenID(b []byte, at int) (id uint32, end int) {
	if end = rawjson.After(b, at, quotedTokenID); end < 0 {
		return 0, -1
	}
	n, end := readDigits(b, end)
	if end < 0 || byteAt(b, end) != '"' {
		return 0, -1
	}
	return uint32(n), end + 1
}

// byteAt returns the byte at this position, or 0 after the end.
func byteAt(b []byte, at int) byte {
	if at < len(b) {
		return b[at]
	}
	return 0
}
