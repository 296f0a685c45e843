package chatserver

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// unprompted are the members of a Chat request that no chat template gets.
var unprompted = [...]string{
	"model", "stop", "user", "metadata", "logit_bias", "bad_words", "cache_salt", "request_id", "prompt_cache_key",
	"safety_identifier", "structured_outputs",
}

// Guarded is what [Spellings.AppendGuarded] has found in a request.
type Guarded struct {
	// Broken is how many spellings were broken.
	Broken int
	// Param is the place of a spelling that was not broken, or empty.
	Param string
}

// GuardMemory is memory for texts, for one request after the other.
type GuardMemory struct{ unescaped, twice []byte }

// AppendGuarded looks for spellings of control tokens in the texts of a Chat request that a chat template may get. If
// breaks is set, it breaks those in texts that only the model reads: what messages say, and descriptions. A name, or a
// word of a schema, would not be the same any more. It appends the request to dst if it has broken any, and stops at
// the first other spelling. request is JSON of at most [rawjson.MaxDepth].
func (s *Spellings) AppendGuarded(dst, request []byte, breaks bool, memory *GuardMemory) ([]byte, Guarded) {
	g := guard{s: s, data: request, dst: dst, breaks: breaks, GuardMemory: memory}
	for i := 0; i < len(request) && g.Param == ""; {
		i = g.step(i)
	}
	if g.Broken > 0 && g.Param == "" {
		g.dst = append(g.dst, request[g.written:]...)
	}
	return g.dst, g.Guarded
}

// guard reads a request once.
type guard struct {
	Guarded
	*GuardMemory
	s      *Spellings
	data   []byte
	breaks bool
	// dst has what data has before written, with spellings broken.
	dst     []byte
	written int

	levels [rawjson.MaxDepth + 1]guardLevel
	depth  int
	// skips reports whether the member of the request is unprompted, or its type says so.
	skips bool
	// assistant reports whether the message is an assistant's.
	assistant bool
	// text is the name of the member with the text of the part of a message. It lies in data or is constant.
	text string
	// tail is the end of the message's text, of which a part may go on.
	tail []byte
}

// guardLevel is an object, whose newest key is key, or an array, whose newest element has the index n.
type guardLevel struct {
	array, atKey bool
	key          []byte
	n            int
}

// The levels of a request: its members, the messages, the members of a message, the parts of its content, and the
// members of a part.
const (
	inRequest = iota
	inMessages
	inMessage
	inParts
	inPart
)

// step reads what begins at i: a text, a bracket or a separator. It returns the place after it.
func (g *guard) step(i int) int {
	top := &g.levels[max(g.depth-1, 0)]
	switch g.data[i] {
	case '{', '[':
		if g.depth == len(g.levels) {
			return len(g.data) // deeper than what is accepted
		}
		g.levels[g.depth] = guardLevel{array: g.data[i] == '[', atKey: g.data[i] == '{'}
		g.depth++
		g.enter(i)
	case '}', ']':
		g.depth = max(g.depth-1, 0)
	case ',':
		top.n++
		top.atKey = !top.array
	case '"':
		end := rawjson.Skip(g.data, i)
		if end < i+2 {
			return len(g.data)
		}
		isKey := top.atKey
		if isKey {
			top.key, top.atKey = g.data[i+1:end-1], false
			if g.depth == inMessages { // the request's own
				g.skips = isUnprompted(top.key)
			}
		}
		if !g.skips && !(isKey && g.depth == inMessages) {
			g.read(i+1, end-1, isKey)
		}
		return end
	}
	return i + 1
}

func isUnprompted(key []byte) bool {
	for _, name := range unprompted {
		if string(key) == name {
			return true
		}
	}
	return false
}

// enter notes what hangs on the whole of an object or array that begins at i.
func (g *guard) enter(i int) {
	if !g.isIn("messages") {
		return
	}
	switch g.depth - 1 {
	case inMessage:
		g.assistant = g.lastIs(i, "role", openai.RoleAssistant)
	case inParts:
		g.tail = g.tail[:0]
	case inPart:
		g.text = "text"
		for _, kind := range [...]string{"refusal", "thinking"} {
			if g.lastIs(i, "type", kind) {
				g.text = kind
			}
		}
	}
}

// lastIs reports whether the last member of this name in the object at i has this value. It is the one that servers
// read.
func (g *guard) lastIs(i int, name, value string) bool {
	is := false
	it := rawjson.Members(g.data[i:rawjson.Skip(g.data, i)])
	for it.Next() {
		if isSpelled(it.Key, name) {
			is = it.Kind == rawjson.String && isSpelled(it.Value, value)
		}
	}
	return is
}

// isSpelled reports whether a text between quotes stands for s.
func isSpelled(text []byte, s string) bool {
	if bytes.IndexByte(text, '\\') >= 0 {
		return rawjson.Unescape(text) == s
	}
	return string(text) == s
}

func (g *guard) isIn(member string) bool { return string(g.levels[inRequest].key) == member }

// A text may be read by the model alone, or it has a meaning of its own.
func (g *guard) isRead(isKey bool) bool {
	top := &g.levels[g.depth-1]
	switch {
	case isKey:
		return false
	case g.isIn("tools"):
		return !top.array && string(top.key) == "description"
	case !g.isIn("messages") || g.depth <= inMessage:
		return false
	}
	member := string(g.levels[inMessage].key)
	switch {
	case g.isPart(isKey):
		return true
	case member == "tool_calls":
		return g.isArguments(isKey)
	case g.depth-1 == inMessage:
		return member == "content" || member == "refusal" || member == "reasoning" || member == "reasoning_content"
	}
	return false
}

// isArguments reports whether the newest text may be the arguments of a call, which servers read as JSON.
func (g *guard) isArguments(isKey bool) bool {
	top := &g.levels[g.depth-1]
	return !isKey && g.isIn("messages") && g.depth > inMessage+1 && !top.array && string(top.key) == "arguments"
}

// isPart reports whether the newest text is a part of a message's content.
func (g *guard) isPart(isKey bool) bool {
	if isKey || !g.isIn("messages") || g.depth <= inParts || string(g.levels[inMessage].key) != "content" {
		return false
	}
	part := &g.levels[inPart]
	return g.depth-1 == inParts && g.levels[inParts].array || g.depth-1 == inPart && !part.array && isSpelled(part.key, g.text)
}

// read reads the text of data from the place from on.
func (g *guard) read(from, to int, isKey bool) {
	text, assistant := g.data[from:to], g.assistant && g.isIn("messages")
	at := g.s.find(text, 0, assistant)
	// The other escapes stand for bytes that no spelling has.
	if bytes.IndexByte(text, '\\') >= 0 && (at >= 0 || bytes.Contains(text, []byte(`\u`)) ||
		bytes.Contains(text, []byte(`\/`))) {
		g.unescaped = rawjson.AppendUnescaped(g.unescaped[:0], text)
		text = g.unescaped
		at = g.s.find(text, 0, assistant)
	}
	part := g.isPart(isKey)
	joined := part && g.joins(text)
	switch {
	case at < 0 && !joined && !(isKey && g.isTag(text)) && !(g.isArguments(isKey) && g.spelledTwice(text)):
	case !g.breaks || !g.isRead(isKey):
		g.Param = g.param(isKey)
	default:
		g.breakText(from, to, text, joined)
	}
	if part {
		g.tail = append(g.tail, text[max(len(text)-contract.MaxSpelling, 0):]...)
		if n := len(g.tail) - contract.MaxSpelling; n > 0 {
			g.tail = append(g.tail[:0], g.tail[n:]...)
		}
	}
}

// joins reports whether a part of a message's content ends a spelling that an earlier part has begun: some templates put
// them together without a separator.
func (g *guard) joins(text []byte) bool {
	if len(g.tail) == 0 || len(text) == 0 {
		return false
	}
	seam := len(g.tail)
	joined := append(g.tail, text[:min(len(text), contract.MaxSpelling)]...)
	g.tail = joined[:seam]
	for at := g.s.find(joined, 0, g.assistant); at >= 0 && at < seam; at = g.s.find(joined, at+1, g.assistant) {
		if at+g.s.match(joined[at:]) > seam {
			return true
		}
	}
	return false
}

// isTag reports whether the key of a schema is the name of a control token. Some templates write keys as tags.
func (g *guard) isTag(key []byte) bool {
	if len(key)+2 > contract.MaxSpelling || !g.isIn("tools") {
		return false
	}
	g.twice = append(append(append(g.twice[:0], '<'), key...), '>')
	return g.s.match(g.twice) == len(g.twice)
}

// spelledTwice reports whether arguments spell a control token in their own escapes, which servers undo.
func (g *guard) spelledTwice(arguments []byte) bool {
	if !bytes.Contains(arguments, []byte(`\u`)) && !bytes.Contains(arguments, []byte(`\/`)) {
		return false
	}
	g.twice = rawjson.AppendUnescaped(g.twice[:0], arguments)
	return g.s.find(g.twice, 0, g.assistant) >= 0
}

// breakText breaks the spellings in a text of data.
func (g *guard) breakText(from, to int, text []byte, joined bool) {
	if g.Broken == 0 {
		g.dst = Reserve(g.dst, len(g.data)+len(g.data)/4)
	}
	g.dst = append(g.dst, g.data[g.written:from]...)
	if most := len(text)*5/2 + len(breaker) + len(g.data) - to; cap(g.dst)-len(g.dst) < most { // a spelling has 2 bytes
		g.dst = Reserve(g.dst, most)
	}
	begin := len(g.dst)
	if joined {
		g.dst = append(g.dst, breaker...)
		g.Broken++
	}
	var n int
	g.dst, n = g.s.appendBroken(g.dst, text, g.assistant && g.isIn("messages"))
	g.Broken += n
	g.written = to
	if !g.isArguments(false) {
		return
	}
	g.unescaped = rawjson.AppendUnescaped(g.unescaped[:0], g.dst[begin:])
	if g.spelledTwice(g.unescaped) {
		g.Param = g.param(false)
	}
}

// param returns the place's name. For a key it is the name of the object that has the key.
func (g *guard) param(isKey bool) string {
	var param strings.Builder
	for i := range g.depth {
		switch l := &g.levels[i]; {
		case l.array:
			param.WriteString("[" + strconv.Itoa(l.n) + "]")
		case isKey && i == g.depth-1:
		default:
			if i > 0 {
				param.WriteByte('.')
			}
			param.WriteString(openai.Clip(rawjson.Unescape(l.key), maxShownKey))
		}
	}
	return param.String()
}

// maxShownKey is how much is shown of a key, in bytes.
const maxShownKey = 64
