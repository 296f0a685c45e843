package openai

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// prompted are the members of a request from which prompts are made, in any API.
var prompted = [...]string{
	"messages", "input", "instructions", "system", "tools", "functions", "response_format", "text", "output_config",
	"output_format",
}

// place is a place in a body: one level for each object and array around it.
type place struct {
	levels [rawjson.MaxDepth + 1]level
	depth  int
}

// level is an object, whose newest key is key, or an array, whose newest element has the index n.
type level struct {
	array bool
	// atKey reports whether the next string is a key.
	atKey bool
	key   []byte
	n     int
}

// FindText returns the place of the first text for which found is true, among the members from which prompts are made.
// A text is a string or a key. Without one FindText returns "". It must be called before the body is decoded, since
// decoding overwrites texts. found must not keep its argument.
func (b *Body) FindText(found func(text []byte) bool) (param string) {
	data := b.root.raw
	var at place
	var unescaped []byte
	for i := 0; i < len(data); i++ {
		top := &at.levels[max(at.depth-1, 0)]
		switch data[i] {
		case '{', '[':
			if at.depth == len(at.levels) {
				return "" // deeper than what Open accepts
			}
			at.levels[at.depth] = level{array: data[i] == '[', atKey: data[i] == '{'}
			at.depth++
		case '}', ']':
			at.depth = max(at.depth-1, 0)
		case ',':
			top.n++
			top.atKey = !top.array
		case '"':
			end := rawjson.Skip(data, i)
			if end < i+2 {
				return ""
			}
			text := data[i+1 : end-1]
			i = end - 1
			isKey := top.atKey
			if isKey {
				top.key, top.atKey = text, false
			}
			if !at.isPrompted() || isKey && at.depth == 1 {
				continue
			}
			if bytes.IndexByte(text, '\\') >= 0 {
				unescaped = rawjson.AppendUnescaped(unescaped[:0], text)
				text = unescaped
			}
			if found(text) {
				return at.param(isKey)
			}
		}
	}
	return ""
}

// isPrompted reports whether the place is in a member from which prompts are made.
func (p *place) isPrompted() bool {
	for _, name := range prompted {
		if string(p.levels[0].key) == name {
			return true
		}
	}
	return false
}

// param returns the place's name. For a key it is the name of the object that has the key.
func (p *place) param(isKey bool) string {
	param := ""
	for i := range p.depth {
		switch l := &p.levels[i]; {
		case l.array:
			param = index(param, l.n)
		case isKey && i == p.depth-1:
		default:
			param = join(param, clip(rawjson.Unescape(l.key)))
		}
	}
	return param
}
