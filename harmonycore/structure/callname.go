package structure

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// functionPrefix is before the name of a function in a recipient.
const functionPrefix = "functions."

// maxCallName is how long the name in a call may be, in bytes. No function can be declared with a longer one.
const maxCallName = 256

// call opens a call of a function.
func (a *called) call(name []byte) {
	a.answered = true
	a.types.name = functionOf(name)
	a.Call(functionPrefix + a.types.name)
}

// notCall goes on after a mark that begins a call, if what follows is none. It is text.
func (a *called) notCall() (n int, stuck bool) {
	a.Count(harmony.MissingMessage)
	a.state = outsideText
	return 0, false
}

// readWrapped decides what follows <tool_call>.
func (a *called) readWrapped(b []byte, last bool) (n int, stuck bool) {
	n = leadingSpace(b)
	rest := b[n:]
	if len(rest) == 0 {
		return n, !last
	}
	if rest[0] == '{' {
		a.beginObject(false)
		a.more = true
		return n, false
	}
	whole, partial := begins(rest, functionMark, last)
	switch {
	case whole:
		a.state = functionName
		return n + len(functionMark), false
	case partial:
		return n, true
	case a.form.named && isNameByte(rest[0]):
		a.state = bareName
		return n, false
	}
	if n > 0 {
		return n, false // the space after a mark is no text
	}
	return a.notCall()
}

// nameIn returns the name with which b begins, and where what follows begins. ok is false if there is none.
// Space around a name, and quotes, are no part of it.
func nameIn(b []byte, last bool) (name []byte, end int, ok, stuck bool) {
	i := leadingSpace(b)
	for i < len(b) && (isNameByte(b[i]) || b[i] == ' ' || b[i] == '\t') && i <= maxCallName {
		i++
	}
	if i == len(b) && !last && i <= maxCallName {
		return nil, 0, false, true
	}
	name = bytes.Trim(b[:i], " \t\r\n\v\f\"'")
	return name, i, len(name) > 0 && i <= maxCallName && bytes.IndexByte(name, ' ') < 0, false
}

func isNameByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c >= 0x80:
		return true
	}
	switch c {
	case '_', '-', '.', ':', '/', '$':
		return true
	}
	return false
}

// readName reads the name of a function, and what ends it.
func (a *called) readName(b []byte, last bool) (n int, stuck bool) {
	if a.state == mistralCallID {
		return a.readMistralID(b, last)
	}
	if a.state == functionName {
		return a.readFunctionName(b, last)
	}
	if a.state == mistralName {
		return a.readMistralName(b, last)
	}
	name, end, ok, stuck := nameIn(b, last)
	if stuck {
		return 0, true
	}
	if !ok {
		return a.notCall()
	}
	switch a.state {
	case kimiName:
		return a.endKimiName(b, name, end, last)
	case deepSeekName:
		return a.endDeepSeekName(b, name, end, last)
	}
	// A bare name ends at a line, at the first argument, or with the call.
	for end < len(b) && isSpace(b[end]) && end <= 2*maxCallName {
		end++
	}
	at, found := a.between.find(b[end:], last)
	switch {
	case at > 0 || end > 2*maxCallName || last && found == nil && end < len(b):
		return a.notCall()
	case found == nil && !last:
		return 0, true
	case found == nil && a.types.undeclared(name):
		return a.notCall() // a word after a mark that is quoted, at the end of an answer
	}
	a.call(name)
	a.beginTagged()
	return end, false
}

// readFunctionName reads the name in <function=NAME> and its like. A name without its end ends at a line.
func (a *called) readFunctionName(b []byte, last bool) (n int, stuck bool) {
	quoted := a.form.tags.attributes
	from := 0
	if !quoted {
		from = leadingSpace(b)
		if from < len(b) && (b[from] == '"' || b[from] == '\'') && from < maxCallName {
			from++
		}
	}
	name, end, ok, stuck := nameIn(b[from:], last)
	if stuck {
		return 0, true
	}
	end += from
	if end < len(b) && (b[end] == '"' || b[end] == '\'') {
		if end++; end == len(b) && !last {
			return 0, true
		}
	}
	if !ok && quoted && len(name) == 0 { // the end of the mark is no text
		whole, partial := begins(b, `">`, last)
		if partial {
			return 0, true
		}
		if whole {
			n = len(`">`)
		}
		a.notCall()
		return n, false
	}
	if !ok || end == len(b) && !last {
		return a.notCall()
	}
	if end < len(b) {
		switch b[end] {
		case '>':
			end++
		case '\n', '\r', '<':
		default:
			return a.notCall()
		}
	}
	a.call(name)
	a.beginTagged()
	return end, false
}

// endKimiName reads what ends functions.NAME:INDEX.
func (a *called) endKimiName(b, name []byte, end int, last bool) (n int, stuck bool) {
	for end < len(b) && isSpace(b[end]) && end <= 2*maxCallName {
		end++
	}
	whole, partial := begins(b[end:], kimiArguments, last)
	at, found := a.within.find(b[end:], last)
	switch {
	case whole:
		end += len(kimiArguments)
	case end > 2*maxCallName || at > 0 && !partial:
		return a.notCall()
	case partial || found == nil && !last:
		return 0, true
	}
	if at := bytes.LastIndexByte(name, ':'); at > 0 && isDigits(name[at+1:]) {
		name = name[:at]
	}
	a.call(name)
	a.state = plainArguments
	return end, false
}

func isDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// endDeepSeekName reads what follows TYPE<sep>NAME and a line, or NAME<sep> and an object.
func (a *called) endDeepSeekName(b, name []byte, end int, last bool) (n int, stuck bool) {
	whole, partial := begins(b[end:], deepSeekSep, last)
	switch {
	case partial:
		return 0, true
	case !whole:
		return a.notCall()
	}
	end += len(deepSeekSep)
	second, size, ok, stuck := nameIn(b[end:], last)
	if stuck {
		return 0, true
	}
	a.state = fencedArguments
	if ok && size < len(b)-end && (b[end+size] == '\n' || b[end+size] == '\r' || b[end+size] == '{') {
		a.call(second)
		return end + size, false
	}
	a.call(name)
	return end, false
}

// readMistralName reads NAME, and [CALL_ID] or [ARGS] or an object after it; or the beginning of a list of objects.
func (a *called) readMistralName(b []byte, last bool) (n int, stuck bool) {
	n = leadingSpace(b)
	if n > 0 {
		return n, false
	}
	if b[0] == '[' || b[0] == '{' {
		space := 1 + leadingSpace(b[1:])
		if b[0] == '[' && space == len(b) && !last && space <= maxLeadingSpace {
			return 0, true
		}
		if b[0] == '{' || space < len(b) && (b[space] == '{' || b[space] == ']') {
			a.more = true
			a.state = afterArguments
			if b[0] == '{' {
				space = 0
			}
			return space, false
		}
		return a.notCall()
	}
	name, end, ok, stuck := nameIn(b, last)
	if stuck {
		return 0, true
	}
	for end < len(b) && isSpace(b[end]) && end <= 2*maxCallName {
		end++
	}
	if !ok || end > 2*maxCallName {
		return a.notCall()
	}
	id, idPartial := begins(b[end:], mistralID, last)
	arguments, partial := begins(b[end:], mistralArgs, last)
	switch {
	case id:
		a.call(name)
		a.state = mistralCallID
		return end + len(mistralID), false
	case arguments:
		end += len(mistralArgs)
	case (idPartial || partial) && end <= 2*maxCallName:
		return 0, true
	case end == len(b) || b[end] != '{':
		return a.notCall()
	}
	a.call(name)
	a.state = plainArguments
	return end, false
}

// readMistralID reads the id after [CALL_ID], up to the arguments.
func (a *called) readMistralID(b []byte, last bool) (n int, stuck bool) {
	for n < len(b) && n < maxCallName && b[n] != '{' && b[n] != '[' {
		n++
	}
	if n > 0 {
		return n, false
	}
	whole, partial := begins(b, mistralArgs, last)
	if partial {
		return 0, true
	}
	a.state = plainArguments
	if whole {
		n = len(mistralArgs)
	}
	return n, false
}
