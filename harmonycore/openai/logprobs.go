package openai

import (
	"bytes"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Logprob is the logprob of a token.
type Logprob struct {
	TokenLogprob
	// Top holds the likeliest tokens in its place, the likeliest first.
	Top []TokenLogprob
}

// TokenLogprob is a token's bytes, which may be a part of a character, and its logprob as a JSON number.
type TokenLogprob struct {
	Token   []byte
	Logprob []byte
}

// Clone returns a copy that shares no memory with l.
func (l *Logprob) Clone() Logprob {
	clone := Logprob{TokenLogprob: l.TokenLogprob.clone()}
	for i := range l.Top {
		clone.Top = append(clone.Top, l.Top[i].clone())
	}
	return clone
}

func (l *TokenLogprob) clone() TokenLogprob {
	return TokenLogprob{Token: bytes.Clone(l.Token), Logprob: bytes.Clone(l.Logprob)}
}

// AppendLogprob appends an element of logprobs.content. It appends a comma first if dst is not empty.
func AppendLogprob(dst []byte, l *Logprob) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	dst = l.appendMembers(append(dst, '{'))
	dst = append(dst, `,"top_logprobs":[`...)
	for i := range l.Top {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(l.Top[i].appendMembers(append(dst, '{')), '}')
	}
	return append(dst, `]}`...)
}

// bytesMember is the text that appendMembers writes before the bytes. A token's text cannot contain it, because quotes
// in it are escaped.
var bytesMember = []byte(`,"bytes":[`)

// appendWithoutBytes appends elements that [AppendLogprob] has written, in the form of Responses events, which have no
// bytes.
func appendWithoutBytes(dst, elements []byte) []byte {
	for {
		before, rest, found := bytes.Cut(elements, bytesMember)
		dst = append(dst, before...)
		if !found {
			return dst
		}
		_, elements, _ = bytes.Cut(rest, closeBracket)
	}
}

var closeBracket = []byte{']'}

func (l *TokenLogprob) appendMembers(dst []byte) []byte {
	dst = appendTokenText(append(dst, `"token":"`...), l.Token)
	dst = append(append(dst, `","logprob":`...), l.Logprob...)
	dst = append(dst, `,"bytes":[`...)
	for i, b := range l.Token {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendInt(dst, int64(b))
	}
	return append(dst, ']')
}

const hexDigits = "0123456789abcdef"

// appendTokenText appends a token as OpenAI spells it. A byte that does not belong to a whole character is written as
// \xf0.
func appendTokenText(dst, token []byte) []byte {
	for len(token) > 0 {
		r, n := utf8.DecodeRune(token)
		if r == utf8.RuneError && n <= 1 {
			dst = append(dst, '\\', '\\', 'x', hexDigits[token[0]>>4], hexDigits[token[0]&15])
			token = token[1:]
			continue
		}
		dst = rawjson.AppendEscaped(dst, rawjson.View(token[:n]))
		token = token[n:]
	}
	return dst
}

// appendLogprobs appends the logprobs object with these elements, or null if there are none.
func appendLogprobs(dst, elements []byte) []byte {
	if len(elements) == 0 {
		return append(dst, "null"...)
	}
	dst = append(append(dst, `{"content":[`...), elements...)
	return append(dst, `],"refusal":null}`...)
}
