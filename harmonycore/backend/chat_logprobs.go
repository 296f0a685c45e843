package backend

import (
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// readTextLogprobs reads the logprobs object of a choice, whose arrays have one element per token:
//
//	{"content":[{"token":"é","bytes":[195,169],"logprob":-0.1,"top_logprobs":[{"token":"e","bytes":[101],
//	  "logprob":-2}]}],"refusal":null}
//
// The bytes count where a server sends them, since a token may be half a character. llama.cpp adds the token's id, and
// vLLM may name a token token_id:7. The logprobs end at the first element without one.
func (e *Event) readTextLogprobs(data []byte) {
	it := &e.walks[walkObject]
	for *it = rawjson.Members(data); it.Next(); {
		switch rawjson.View(it.Key) {
		case "content", "refusal":
			e.readTokens(it.Value)
		}
	}
	if len(e.namedIDs) != len(e.TextLogprobs) {
		e.namedIDs = e.namedIDs[:0] // ids of some tokens alone are of no use
	}
	clear(e.walks[:]) // each would keep the data
}

// The places in [Event.walks]: one for each object or list in which another one is gone through.
const (
	walkObject = iota
	walkTokens
	walkToken
	walkTop
	walkBytes
	walksOfLogprobs
)

func (e *Event) readTokens(list []byte) {
	it := &e.walks[walkTokens]
	for *it = rawjson.Elements(list); len(e.TextLogprobs) < maxTextLogprobs && it.Next(); {
		token, top := e.readToken(it.Value)
		if token.logprob == nil {
			return
		}
		if token.hasID {
			e.namedIDs = append(e.namedIDs, token.id)
		}
		l := e.addTextLogprob()
		l.Token, l.Logprob = token.text, token.logprob
		other := &e.walks[walkTop]
		for *other = rawjson.Elements(top); len(l.Top) < maxAlternatives && other.Next(); {
			if a, _ := e.readToken(other.Value); a.logprob != nil {
				l.Top = append(l.Top, TextAlternative{Token: a.text, Logprob: a.logprob})
			}
		}
	}
}

// addTextLogprob appends an empty logprob. It reuses the memory of an earlier event's.
func (e *Event) addTextLogprob() *TextLogprob {
	if n := len(e.TextLogprobs); n < cap(e.TextLogprobs) {
		e.TextLogprobs = e.TextLogprobs[:n+1]
	} else {
		e.TextLogprobs = append(e.TextLogprobs, TextLogprob{})
	}
	l := &e.TextLogprobs[len(e.TextLogprobs)-1]
	*l = TextLogprob{Top: l.Top[:0]}
	return l
}

// textToken is a token beside its logprob.
type textToken struct {
	text, logprob []byte
	id            uint32
	hasID         bool
}

// readToken reads a token. top is the list of its alternatives.
func (e *Event) readToken(data []byte) (token textToken, top []byte) {
	var text, list []byte
	it := &e.walks[walkToken]
	for *it = rawjson.Members(data); it.Next(); {
		switch rawjson.View(it.Key) {
		case "token":
			if it.Kind == rawjson.String {
				text = it.Value
			}
		case "bytes":
			if it.Kind == rawjson.Array {
				list = it.Value
			}
		case "logprob":
			if it.Kind == rawjson.Number {
				token.logprob = it.Value
			}
		case "id":
			n, end := readDigits(it.Value, 0)
			token.id, token.hasID = uint32(n), end == len(it.Value)
		case "top_logprobs":
			top = it.Value
		}
	}
	if digits := rawjson.After(text, 0, tokenIDPrefix); !token.hasID && digits >= 0 {
		n, end := readDigits(text, digits)
		token.id, token.hasID = uint32(n), end == len(text)
	}
	from := len(e.memory)
	if list == nil || !e.keepBytes(list) {
		e.memory = rawjson.AppendUnescaped(e.memory[:from], text)
	}
	token.text = e.memory[from:len(e.memory):len(e.memory)]
	return token, top
}

// keepBytes appends a list of bytes to the event's memory. It reports whether it is one.
func (e *Event) keepBytes(list []byte) bool {
	it := &e.walks[walkBytes]
	for *it = rawjson.Elements(list); it.Next(); {
		n, end := readDigits(it.Value, 0)
		if end != len(it.Value) || n > 255 {
			return false
		}
		e.memory = append(e.memory, byte(n))
	}
	return true
}

// maxTextLogprobs is how many logprobs of one event are read. Only a whole answer has more than a few.
const maxTextLogprobs = 64 << 10

// logprobsDepth is how deep the logprobs object may nest, which stands in three others.
const logprobsDepth = rawjson.MaxDepth - 3

// readGapTextLogprobs reads the logprobs object at this position. It returns the position after it, or -1 if no valid
// object stands there in one line.
func readGapTextLogprobs(b []byte, at int, e *Event) int {
	if byteAt(b, at) != '{' {
		return -1
	}
	end := rawjson.SkipValid(b, at, logprobsDepth)
	if end < 0 || sse.LineSize(b[at:end]) != end-at {
		return -1
	}
	e.readTextLogprobs(b[at:end])
	return end
}
