package structure

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// object reads {"name": …, "arguments": …}, in pieces. Its other members mean nothing, and may be a "function" around
// the two.
type object struct {
	named Tools
	// bare reports whether no mark stands before the object, so that it may be an answer. A call then names a function
	// that the request declares.
	bare  bool
	state objectState
	value jsonValue
	key   []byte
	name  []byte
	// raw is the text so far, as long as the call is not open. from and to are where its arguments are, if they came
	// before the name.
	raw      []byte
	from, to int
	// opened reports whether the call is open. wrapped is how many objects are around the name.
	opened    bool
	wrapped   int
	backslash bool
	// quoted are the arguments, if they are a string.
	quoted   []byte
	isString bool
}

type objectState uint8

const (
	beforeObject objectState = iota
	beforeKey
	inObjectKey
	afterObjectKey
	beforeObjectValue
	inObjectName
	inObjectArguments
	inOtherValue
)

const (
	// maxHeldObject is how much text of an object is held until its call is open, in bytes.
	maxHeldObject = 256 << 10
	// maxHeldValue is how much of an argument is held whose type is known at its end only, in bytes.
	maxHeldValue = 1 << 20
	// maxObjectKey is how much of a member's name is kept: more than the longest that means something.
	maxObjectKey = 32
)

func (a *called) beginObject(bare bool) {
	o := &a.object
	*o = object{named: o.named, bare: bare, key: o.key[:0], name: o.name[:0], raw: o.raw[:0], quoted: o.quoted[:0], to: -1}
	a.state = inObject
}

// objectEnd is how reading an object went on.
type objectEnd uint8

const (
	goesOn objectEnd = iota
	ended
	broken
)

func (a *called) readObject(b []byte, last bool) (n int, stuck bool) {
	at, found := a.within.find(b, last)
	n, end := a.object.read(b[:at], a)
	switch {
	case end == ended:
		a.endObject()
		return n, false
	case end == broken || len(a.object.raw) > maxHeldObject:
		a.abandonObject()
		return n, false
	case found == nil:
		return at, at < len(b)
	}
	a.breakObject(true)
	a.endOrBegin(found)
	return at + len(found.text), false
}

// endOrBegin goes on after a mark that ends a call, or begins another one instead.
func (a *called) endOrBegin(m *meaning) {
	if m.does == beginsCall || m.does == beginsCalls {
		a.Count(harmony.MissingEnd)
		a.Close(harmony.EndedByCall)
		a.begin(m)
		return
	}
	a.endCall()
}

// read reads on in b, and opens the call of a when its name is known.
func (o *object) read(b []byte, a *called) (n int, end objectEnd) {
	for n < len(b) {
		used, end := o.readPart(b[n:], a)
		if !o.opened && end != broken {
			o.raw = append(o.raw, b[n:n+used]...)
			o.note(len(o.raw))
		}
		n += used
		if end != goesOn || len(o.raw) > maxHeldObject {
			return n, end
		}
		if o.opened && len(o.raw) > 0 {
			o.raw = o.raw[:0]
		}
	}
	return n, goesOn
}

// note notes where arguments end that came before the name.
func (o *object) note(at int) {
	if o.state == inObjectArguments {
		o.to = at
	}
}

// readPart reads one byte, or a piece of a value.
func (o *object) readPart(b []byte, a *called) (n int, end objectEnd) {
	c := b[0]
	switch o.state {
	case beforeObject:
		o.state = beforeKey
	case beforeKey:
		switch {
		case c == '"':
			o.state, o.key = inObjectKey, o.key[:0]
		case c == '}' && o.wrapped > 0:
			o.wrapped--
		case c == '}':
			return 1, ended
		case c != ',' && !isSpace(c):
			return 0, broken
		}
	case inObjectKey:
		if c == '"' && !o.backslash {
			o.state = afterObjectKey
		} else if len(o.key) < maxObjectKey {
			o.key = append(o.key, c)
		}
		o.backslash = c == '\\' && !o.backslash
	case afterObjectKey:
		if c == ':' {
			o.state = beforeObjectValue
		} else if !isSpace(c) {
			return 0, broken
		}
	case beforeObjectValue:
		switch c {
		case ',', '}', ']': // there is none
			o.state = beforeKey
			return 0, goesOn
		}
		if isSpace(c) {
			return 1, goesOn
		}
		return o.beginValue(c, a)
	case inObjectName:
		return o.readName(c, a)
	default:
		return o.readValue(b, a)
	}
	return 1, goesOn
}

// beginValue decides what the value of a member is that begins with c.
func (o *object) beginValue(c byte, a *called) (n int, end objectEnd) {
	o.value = jsonValue{}
	switch string(o.key) {
	case "name":
		if c == '"' && len(o.name) == 0 {
			o.state = inObjectName
			return 1, goesOn
		}
	case "arguments", "parameters":
		if o.to >= 0 || o.opened {
			break // a second one
		}
		o.isString = c == '"'
		o.state, o.from, o.to = inObjectArguments, len(o.raw), len(o.raw)
		if len(o.name) > 0 {
			return 0, o.open(a)
		}
		return 0, goesOn
	case "function":
		if c == '{' {
			o.wrapped++
			o.state = beforeKey
			return 1, goesOn
		}
	case "type", "id":
	default:
		if o.bare {
			return 0, broken
		}
	}
	o.state = inOtherValue
	return 0, goesOn
}

// open opens the call. Without a mark before it, an object is a call only if a function has its name.
func (o *object) open(a *called) objectEnd {
	if o.bare && o.named != nil {
		if _, declared := o.named.Function(functionOf(o.name)); !declared {
			return broken
		}
	}
	a.call(o.name)
	o.opened = true
	return goesOn
}

// functionOf returns the name of the function that a call names.
func functionOf(name []byte) string { return string(bytes.TrimPrefix(name, []byte(functionPrefix))) }

// readName reads a byte of the name.
func (o *object) readName(c byte, a *called) (n int, end objectEnd) {
	if c != '"' || o.backslash {
		o.backslash = c == '\\' && !o.backslash
		if o.name = append(o.name, c); len(o.name) > maxCallName {
			return 0, broken
		}
		return 1, goesOn
	}
	if len(o.name) == 0 {
		return 0, broken
	}
	o.name = rawjson.AppendUnescaped(nil, o.name)
	o.state = beforeKey
	if o.to < 0 {
		return 1, goesOn
	}
	if end := o.open(a); end != goesOn {
		return 0, end
	}
	a.Arguments(arguments(o.raw[o.from:min(o.to, len(o.raw))]))
	return 1, goesOn
}

// readValue reads a piece of a value.
func (o *object) readValue(b []byte, a *called) (n int, end objectEnd) {
	n, whole := o.value.next(b)
	if o.state == inObjectArguments && o.opened {
		switch {
		case !o.isString:
			a.Arguments(b[:n])
		case len(o.quoted)+n <= maxHeldValue:
			o.quoted = append(o.quoted, b[:n]...)
		default:
			a.Arguments(o.quoted)
			a.Arguments(b[:n])
			o.quoted, o.isString = o.quoted[:0], false
		}
	}
	if !whole {
		return n, goesOn
	}
	if o.state == inObjectArguments {
		if o.opened && o.isString {
			a.Arguments(arguments(o.quoted))
			o.isString = false
		} else if !o.opened {
			o.to = len(o.raw) + n
		}
	}
	o.state = beforeKey
	return n, goesOn
}

// arguments returns the arguments of a call from their JSON value. Some models write them as a string that holds an
// object.
func arguments(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return value
	}
	text := rawjson.AppendUnescaped(nil, value[1:len(value)-1])
	if inner := bytes.TrimSpace(text); len(inner) > 0 && inner[0] == '{' {
		return text
	}
	return value
}

// endObject ends an object at its bracket.
func (a *called) endObject() {
	o := &a.object
	if !o.opened {
		if o.bare || len(o.name) == 0 {
			a.giveBackObject()
			return
		}
		a.call(o.name)
		a.Arguments([]byte("{}"))
	}
	a.Close(harmony.EndedByCall)
	a.state = afterArguments
	if o.bare {
		a.more = true
	}
}

// giveBackObject makes text of an object that is no call.
func (a *called) giveBackObject() {
	if !a.object.bare {
		a.Count(harmony.MissingMessage)
	}
	a.answered = true
	a.state = outsideText
	a.Answer(a.object.raw)
	a.object.raw = a.object.raw[:0]
}

// abandonObject ends an object at text that no object can have.
func (a *called) abandonObject() {
	if !a.object.opened {
		a.giveBackObject()
		return
	}
	a.flushObject()
	a.Close(harmony.EndedByCall)
	a.state = afterArguments
}

// flushObject passes on arguments that are a string without its end.
func (a *called) flushObject() {
	o := &a.object
	if o.opened && o.isString {
		a.Arguments(o.quoted)
		o.quoted, o.isString = o.quoted[:0], false
	}
}

// breakObject ends an object that has no bracket at its end: at a mark, or at the end of the answer. Of a call that was
// cut off nothing is left as long as its name is not known.
func (a *called) breakObject(whole bool) {
	o := &a.object
	switch {
	case o.opened:
		a.flushObject()
	case whole && !o.bare && len(o.name) > 0 && o.state == beforeKey:
		a.endObject()
	case whole || o.bare:
		a.giveBackObject()
	default:
		a.Count(harmony.DroppedHeader)
	}
}

// readTail reads what may follow a call's arguments before its end mark.
func (a *called) readTail(b []byte, last bool) (n int, stuck bool) {
	for n < len(b) && (isSpace(b[n]) || indexByte(a.form.tail, b[n])) {
		n++
	}
	if n == len(b) {
		return n, false
	}
	if b[n] == '{' && a.more {
		a.beginObject(false)
		return n, false
	}
	at, found := a.ending.find(b[n:], last)
	switch {
	case at > 0:
		a.state = outsideText
		return n, false
	case found == nil:
		return n, true
	case found.does == beginsCall || found.does == beginsCalls:
		a.begin(found)
	default:
		a.endCall()
	}
	return n + len(found.text), false
}

func indexByte(s string, c byte) bool {
	for i := range len(s) {
		if s[i] == c {
			return true
		}
	}
	return false
}

// beginArguments reads what stands between a name and its arguments.
func (a *called) beginArguments(b []byte, last bool) (n int, stuck bool) {
	n = leadingSpace(b)
	rest := b[n:]
	if len(rest) == 0 {
		return n, false
	}
	if a.state == fencedArguments {
		whole, partial := begins(rest, fence+"json", last)
		short, shortPartial := begins(rest, fence, last)
		switch {
		case partial || shortPartial:
			return n, true
		case whole:
			n += len(fence + "json")
		case short:
			n += len(fence)
		}
		a.state = plainArguments
		return n, false
	}
	a.arguments = jsonValue{}
	a.state = inArguments
	return n, false
}

// readArguments reads arguments that are JSON. Others are passed on as they are.
func (a *called) readArguments(b []byte, last bool) (n int, stuck bool) {
	at, found := a.ending.find(b, last)
	if at > 0 && a.arguments.kind == noValue && b[0] != '{' {
		a.arguments.kind = rawValue
	}
	if a.arguments.kind == rawValue {
		a.Arguments(b[:at])
	} else {
		used, whole := a.arguments.next(b[:at])
		a.Arguments(b[:used])
		if whole {
			a.Close(harmony.EndedByCall)
			a.state = afterArguments
			return used, false
		}
	}
	if found == nil {
		return at, at < len(b)
	}
	if a.arguments.kind == noValue {
		a.Arguments([]byte("{}"))
	}
	a.endOrBegin(found)
	return at + len(found.text), false
}
