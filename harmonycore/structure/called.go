package structure

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// called is the [Adapter] of text with reasoning between tags, as [chat] reads it, and with calls in a [form]. A mark
// that begins a call ends the reasoning too: models forget its end there. What begins as a call and is none becomes
// text, without its marks. The arguments of a call are what the model wrote, also if they are no JSON.
type called struct {
	*Messages
	form  *form
	state calledState
	// held is text that is not read yet: the beginning of a mark or a name.
	held []byte
	// outside, inside and within are the marks of an answer, of reasoning, and of a call.
	outside, inside, within marks
	// The marks of tagged arguments: between them, after a key, and in a value.
	between, beforeValue, inValue marks
	// thinks reports whether there may be reasoning between tags, and anywhere whether it may stand behind the answer's
	// text, too. answered reports whether text of the answer has come.
	thinks, anywhere, answered bool
	// untagged reports whether an answer that began inside reasoning has had no tag. unmatched is its text.
	untagged  bool
	unmatched repeated
	object    object
	arguments jsonValue
	argument  argument
	// ending are the marks that end the arguments: within, or between for those in <function=NAME>.
	ending *marks
	// more reports whether another object may follow an object, as in a list.
	more  bool
	types argumentTypes
}

// calledState is where the next byte of text is.
type calledState uint8

const (
	// outsideText is an answer. leadingText is before its text, and openedText before reasoning that the prompt has
	// opened.
	outsideText calledState = iota
	leadingText
	openedText
	insideText
	// wrappedCall is after <tool_call>. The next ones are before the names of functions.
	wrappedCall
	functionName
	bareName
	kimiName
	deepSeekName
	mistralName
	mistralCallID
	// fencedArguments is before arguments that may stand in a fence, and plainArguments before any others.
	fencedArguments
	plainArguments
	inArguments
	inObject
	// afterArguments is after an object or after arguments, before the mark that ends a call. afterCall is after that.
	afterArguments
	afterCall
	betweenArguments
	inKey
	afterKey
	inValue
)

func newCalled(f *form, sink harmony.Sink, o Options) *called {
	a := &called{Messages: NewMessages(sink), form: f, anywhere: o.ThinkTags == contract.ThinkAnywhere}
	a.types.tools = o.Tools
	a.object.named = o.Tools
	think, end := f.think, f.thinkEnd
	if len(think) == 0 {
		think, end = []string{thinkTag}, []string{thinkEndTag}
	}
	a.state, a.ending = leadingText, &a.within
	switch o.ThinkTags {
	case contract.ThinkOff:
	case contract.ThinkOpened:
		a.state, a.untagged, a.thinks = openedText, true, true
	default:
		a.thinks = true
	}
	if a.thinks {
		a.inside.add(endsThinking, end...)
		if a.anywhere {
			a.outside.add(beginsThinking, think...)
		}
		a.outside.add(nothing, end...)
	}
	for _, m := range []*marks{&a.outside, &a.inside, &a.within, &a.between, &a.beforeValue, &a.inValue} {
		for _, o := range f.opens {
			if m != &a.inside || !o.quotable {
				m.put(meaning{text: o.mark, does: beginsCall, body: o.body})
			}
		}
		m.add(beginsCalls, f.sections...)
	}
	for _, m := range []*marks{&a.within, &a.between, &a.beforeValue, &a.inValue} {
		m.add(endsCall, f.ends...)
		m.add(endsCall, f.closings...)
	}
	for _, m := range []*marks{&a.outside, &a.inside} {
		m.add(endsCall, f.ends...)
		m.add(nothing, f.closings...)
	}
	for _, m := range []*marks{&a.between, &a.beforeValue, &a.inValue} {
		m.add(beginsKey, f.tags.key)
		m.add(endsCall, f.tags.end)
	}
	a.beforeValue.add(beginsValue, f.tags.value)
	a.inValue.add(endsValue, f.tags.valueEnd)
	return a
}

// Timed implements [Adapter].
func (*called) Timed() bool { return false }

// maxTaken is how much text is read at once, in bytes. A state may look through it for a mark, and read little.
const maxTaken = 256

// Write implements [Adapter].
func (a *called) Write(b []byte, _ int64) {
	for len(b) > 0 {
		n := min(len(b), maxTaken)
		a.take(b[:n], false)
		b = b[n:]
	}
}

// take reads on. last reports whether no more of the text may come that belongs to b.
func (a *called) take(b []byte, last bool) {
	if len(a.held) > 0 {
		a.held = append(a.held, b...)
		b = a.held
	}
	for {
		n, stuck := a.step(b, last)
		b = b[n:]
		if stuck || len(b) == 0 {
			break
		}
	}
	a.held = append(a.held[:0], b...)
}

// step reads a part of b in one state. n is how much of b is read. stuck reports whether more of the text must come. It
// is never set if last is, and without it either n is not 0 or the state has changed to a later one.
func (a *called) step(b []byte, last bool) (n int, stuck bool) {
	if len(b) == 0 {
		return 0, true
	}
	switch a.state {
	case leadingText, openedText:
		return a.readLeading(b, last)
	case insideText:
		return a.readInside(b, last)
	case wrappedCall:
		return a.readWrapped(b, last)
	case functionName, bareName, kimiName, deepSeekName, mistralName, mistralCallID:
		return a.readName(b, last)
	case fencedArguments, plainArguments:
		return a.beginArguments(b, last)
	case inArguments:
		return a.readArguments(b, last)
	case inObject:
		return a.readObject(b, last)
	case afterArguments:
		return a.readTail(b, last)
	case afterCall:
		n = leadingSpace(b)
		if n < len(b) {
			a.state = a.beginning()
		}
		return n, false
	case betweenArguments, inKey, afterKey, inValue:
		return a.readTagged(b, last)
	default:
		return a.readOutside(b, last)
	}
}

// beginning returns the state before text that may be reasoning.
func (a *called) beginning() calledState {
	if a.answered {
		return outsideText
	}
	return leadingText
}

// readLeading reads space before a leading tag.
func (a *called) readLeading(b []byte, last bool) (n int, stuck bool) {
	space := leadingSpace(b)
	rest := b[space:]
	if space <= maxLeadingSpace {
		if len(rest) == 0 && !last {
			return 0, true
		}
		if a.thinks {
			for _, tag := range a.thinkTags() {
				whole, partial := begins(rest, tag, last)
				switch {
				case whole:
					a.beginReasoning()
					a.untagged = false
					return space + len(tag), false
				case partial:
					return 0, true
				}
			}
		}
		if a.form.bare && a.state == leadingText && len(rest) > 0 && rest[0] == '{' {
			a.beginObject(true)
			a.object.raw = append(a.object.raw, b[:space]...)
			return space, false
		}
	}
	if a.state == openedText {
		a.state = insideText
	} else {
		a.state = outsideText
	}
	return 0, false
}

func (a *called) thinkTags() []string {
	if len(a.form.think) > 0 {
		return a.form.think
	}
	return defaultThink
}

var defaultThink = []string{thinkTag}

func (a *called) readInside(b []byte, last bool) (n int, stuck bool) {
	at, found := a.inside.find(b, last)
	a.reason(b[:at])
	if found == nil {
		return at, at < len(b)
	}
	n = at + len(found.text)
	switch found.does {
	case endsThinking:
		a.endReasoning()
	case beginsCall, beginsCalls:
		a.Count(harmony.MissingMark)
		a.endReasoning()
		a.begin(found)
	default:
		a.Count(harmony.StrayControl)
	}
	return n, false
}

func (a *called) readOutside(b []byte, last bool) (n int, stuck bool) {
	at, found := a.outside.find(b, last)
	if at > 0 {
		a.answered = true
		a.Answer(b[:at])
	}
	if found == nil {
		return at, at < len(b)
	}
	n = at + len(found.text)
	switch found.does {
	case beginsThinking:
		a.beginReasoning()
	case beginsCall, beginsCalls:
		a.begin(found)
	case endsCall:
		if !a.open {
			a.state = afterCall // the end of all calls
		} else {
			a.Count(harmony.StrayControl)
		}
	}
	return n, false
}

// begin goes on after a mark that begins a call, or all calls.
func (a *called) begin(m *meaning) {
	if m.does == beginsCalls {
		a.Close(harmony.EndedByEnd)
		a.state = afterCall
		return
	}
	a.more, a.ending = false, &a.within
	switch m.body {
	case wrapped:
		a.state = wrappedCall
	case objects:
		a.state, a.more = afterArguments, true
	case function:
		a.state = functionName
	case kimiHeader:
		a.state = kimiName
	case deepSeekHeader:
		a.state = deepSeekName
	case mistralHeader:
		a.state = mistralName
	}
}

func (a *called) beginReasoning() {
	a.Close(harmony.EndedByEnd)
	a.state = insideText
}

func (a *called) endReasoning() {
	a.Close(harmony.EndedByEnd)
	a.untagged = false
	a.unmatched.clear()
	a.state = a.beginning()
}

func (a *called) reason(text []byte) {
	a.Reasoning(text)
	if a.untagged {
		a.unmatched.add(text)
	}
}

// endCall ends the open call, if any, at its mark.
func (a *called) endCall() {
	if a.isCall() {
		a.Close(harmony.EndedByCall)
	}
	a.Close(harmony.EndedByEnd)
	a.state = afterCall
}

// release reads what is held to its end, and ends a call that is open. whole reports whether a call without its end is
// one all the same: the model has stopped writing.
func (a *called) release(whole bool) {
	a.take(nil, true)
	switch a.state {
	case inObject:
		a.breakObject(whole)
	case betweenArguments, inKey, afterKey, inValue:
		a.endTagged(whole)
	case plainArguments, fencedArguments, mistralCallID:
		if whole {
			a.Arguments([]byte("{}"))
		}
	}
}

// Break implements [Adapter]. A server that sends reasoning of its own before all text has separated it from the text.
func (a *called) Break() {
	if a.state == openedText && len(a.held) == 0 {
		a.state, a.untagged = leadingText, false
	}
	idle := len(a.held) == 0 && (a.state == leadingText || a.state == insideText)
	if !idle {
		a.release(true)
	}
	a.unmatched.clear()
	if a.isCall() {
		a.Close(harmony.EndedByCall)
	} else {
		a.Close(harmony.EndedByEnd)
	}
	if !idle && a.state != insideText {
		a.state = outsideText
	}
}

// Finish implements [Adapter].
func (a *called) Finish(whole bool) {
	a.release(whole)
	if whole && a.state == insideText {
		a.Count(harmony.MissingMark)
		if text := a.unmatched.text(); len(text) > 0 {
			a.Answer(text)
		}
	}
	a.Messages.Finish(whole)
}

// isCall reports whether the open message is a call.
func (a *called) isCall() bool { return a.open && a.header.Recipient != "" }
