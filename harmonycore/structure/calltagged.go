package structure

import (
	"bytes"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// argument is the state of a call whose arguments stand between tags. It becomes an object in JSON.
type argument struct {
	// count is how many arguments the call has had.
	count int
	// types are the types of the argument that is open. text reports whether its value is passed on as a string while it
	// comes, and held is its value otherwise.
	types typeSet
	text  bool
	held  []byte
	// began reports whether the value has begun.
	began bool
	// stray is text between the arguments. It follows the call.
	stray []byte
	out   []byte
}

const (
	// maxArgumentName is how long the name of an argument may be, with its attributes, in bytes.
	maxArgumentName = 512
	// maxStray is how much text between arguments is kept, in bytes.
	maxStray = 64 << 10
)

func (a *called) beginTagged() {
	g := &a.argument
	*g = argument{held: g.held[:0], stray: g.stray[:0], out: g.out}
	a.state = betweenArguments
}

func (a *called) readTagged(b []byte, last bool) (n int, stuck bool) {
	switch a.state {
	case inKey:
		return a.readKey(b, last)
	case inValue:
		return a.readTaggedValue(b, last)
	}
	where := &a.between
	if a.state == afterKey {
		where = &a.beforeValue
	} else if a.argument.count == 0 && len(a.argument.stray) == 0 {
		// Some models write an object instead of arguments with tags.
		if n = leadingSpace(b); n < len(b) && b[n] == '{' {
			a.state, a.ending = plainArguments, &a.between
			return n, false
		}
	}
	at, found := where.find(b, last)
	if !a.keepStray(b[:at]) {
		return at, false
	}
	if found == nil {
		return at, at < len(b)
	}
	if a.state == afterKey && found.does != beginsValue {
		a.endValue() // an argument without a value
		a.state = betweenArguments
	}
	n = at + len(found.text)
	switch found.does {
	case beginsValue:
		a.state = inValue
	case beginsKey:
		a.state = inKey
	default:
		a.endTagged(true)
		a.endOrBegin(found)
	}
	return n, false
}

// keepStray keeps text between arguments. It reports whether the call goes on.
func (a *called) keepStray(text []byte) bool {
	g := &a.argument
	if len(g.stray) == 0 {
		text = text[leadingSpace(text):]
	}
	if g.stray = append(g.stray, text...); len(g.stray) <= maxStray {
		return true
	}
	a.endTagged(true)
	a.state = outsideText
	return false
}

// readKey reads the name of an argument.
func (a *called) readKey(b []byte, last bool) (n int, stuck bool) {
	t := &a.form.tags
	at := bytes.Index(b[:min(len(b), maxArgumentName)], []byte(t.keyEnd))
	if at < 0 && len(b) < maxArgumentName && !last {
		return 0, true
	}
	if at < 0 { // it is no argument
		a.state = betweenArguments
		if !a.keepStray(b[:1]) {
			a.state = outsideText
		}
		return 1, false
	}
	key, any := b[:at], false
	if t.attributes {
		key, any = attributesOf(key)
	}
	a.beginValue(bytes.Trim(key, " \t\r\n\v\f\"'"), any)
	a.state = inValue
	if t.value != "" {
		a.state = afterKey
	}
	return at + len(t.keyEnd), false
}

// attributesOf reads name="a" string="true". any reports whether the value is JSON.
func attributesOf(b []byte) (name []byte, any bool) {
	_, rest, found := bytes.Cut(b, []byte(`name="`))
	if !found {
		return b, true
	}
	name, rest, _ = bytes.Cut(rest, []byte{'"'})
	return name, !bytes.Contains(rest, []byte(`string="true"`))
}

// beginValue begins an argument. any reports whether its value may be of any type, unless the schema says otherwise.
func (a *called) beginValue(key []byte, any bool) {
	g := &a.argument
	g.types = a.types.of(key)
	g.text = g.types == textType || g.types == 0 && !any
	g.held, g.began = g.held[:0], false
	g.out = append(g.out[:0], '{')
	if g.count > 0 {
		g.out[0] = ','
	}
	g.out = append(rawjson.AppendString(g.out, string(key)), ':')
	g.count++
	if g.text {
		g.out = append(g.out, '"')
	}
	a.Arguments(g.out)
}

func (a *called) readTaggedValue(b []byte, last bool) (n int, stuck bool) {
	at, found := a.inValue.find(b, last)
	text := b[:at]
	if found != nil && found.does == endsCall {
		switch a.endsAfter(b[at+len(found.text):], last) {
		case undecided:
			text = text[:a.passable(text)]
			a.addValue(text, false)
			return len(text), true
		case unmarked: // the value quotes the mark
			text = b[:at+len(found.text)]
			a.addValue(text, false)
			return len(text), false
		}
	}
	if found == nil && !last {
		text = text[:a.passable(text)]
	}
	a.addValue(text, found != nil || last)
	if found == nil {
		return len(text), len(text) < len(b)
	}
	switch found.does {
	case endsValue:
		a.endValue()
		a.state = betweenArguments
	case beginsKey:
		a.Count(harmony.MissingEnd)
		a.endValue()
		a.state = inKey
	default:
		a.Count(harmony.MissingEnd)
		a.endTagged(true)
		a.endOrBegin(found)
	}
	return at + len(found.text), false
}

// endsAfter decides whether a mark that ends a call ends the value before it, whose own end is missing. It does if
// another mark follows, or nothing.
func (a *called) endsAfter(b []byte, last bool) verdict {
	space := leadingSpace(b)
	rest := b[space:]
	if len(rest) == 0 && !last && space <= maxLeadingSpace {
		return undecided
	}
	at, found := a.within.find(rest[:min(len(rest), MaxMark)], last || len(rest) >= MaxMark)
	switch {
	case len(rest) == 0, at == 0 && found != nil:
		return marked
	case at == 0 && found == nil && space <= maxLeadingSpace:
		return undecided
	}
	return unmarked
}

// passable returns how much of a value can be passed on while more of it may come: not a line end that may be the last,
// and not a part of a character.
func (a *called) passable(text []byte) int {
	n := len(text)
	if a.form.tags.lines && n > 0 && text[n-1] == '\n' {
		return n - 1
	}
	for i := n - 1; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return i
			}
			break
		}
	}
	return n
}

// addValue adds to the open value. last reports whether it is all that comes.
func (a *called) addValue(text []byte, last bool) {
	g := &a.argument
	if a.form.tags.lines {
		if !g.began && len(text) > 0 && text[0] == '\n' {
			text = text[1:]
			g.began = true
		}
		if last && len(text) > 0 && text[len(text)-1] == '\n' {
			text = text[:len(text)-1]
		}
	}
	if len(text) == 0 {
		return
	}
	g.began = true
	if !g.text {
		if len(g.held)+len(text) <= maxHeldValue {
			g.held = append(g.held, text...)
			return
		}
		g.text = true
		g.out = rawjson.AppendEscaped(append(g.out[:0], '"'), rawjson.View(g.held))
		a.Arguments(g.out)
	}
	g.out = rawjson.AppendEscaped(g.out[:0], rawjson.View(text))
	a.Arguments(g.out)
}

// endValue ends the open value.
func (a *called) endValue() {
	g := &a.argument
	if g.text {
		a.Arguments([]byte{'"'})
	} else {
		g.out = g.types.appendValue(g.out[:0], g.held)
		a.Arguments(g.out)
	}
	g.held, g.text = g.held[:0], false
}

// endTagged ends the call. whole reports whether it may be whole: a call that was cut off stays so.
func (a *called) endTagged(whole bool) {
	g := &a.argument
	if (a.state == inValue || a.state == afterKey) && (whole || !g.text) {
		a.endValue()
	}
	end := harmony.Cut
	if whole {
		end = harmony.EndedByCall
		if g.count == 0 {
			a.Arguments([]byte{'{'})
		}
		a.Arguments([]byte{'}'})
	}
	a.state = betweenArguments
	if len(bytes.TrimSpace(g.stray)) > 0 {
		a.Close(end)
		a.Answer(g.stray)
	}
	g.stray = g.stray[:0]
}
