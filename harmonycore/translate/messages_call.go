package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// streamedCall is how the arguments of a call are streamed. Those that begin no object, such as the code of a call of
// python, are streamed within one, which the same arguments of a whole answer are in. Clients read the pieces as parts
// of an object as they come, and some give up at the first that is none (RATIONALE.md#238).
type streamedCall struct {
	// begun reports whether a first piece was sent, and wrapped whether the arguments begin no object.
	begun, wrapped bool
	// length is the length of the arguments so far, as [anthropic.LengthOf] counts it.
	length int
}

// showArguments streams a piece of the open call's arguments. White space before the first other character waits in
// plain.
func (a *messagesAnswer) showArguments(text []byte) {
	c := &a.call
	if !c.begun {
		a.plain = append(a.plain, text...)
		at := rawjson.Space(a.plain, 0)
		if at == len(a.plain) {
			return
		}
		c.begun, c.wrapped, text = true, a.plain[at] != '{', a.plain
		if c.wrapped {
			a.out = a.events.AppendDelta(a.out, []byte(anthropic.UnparsedOpen))
		}
	}
	if !c.wrapped {
		a.out = a.events.AppendDelta(a.out, text)
		return
	}
	c.length += anthropic.LengthOf(text)
	a.block.Text = rawjson.AppendEscaped(a.block.Text[:0], rawjson.View(text))
	a.out = a.events.AppendDelta(a.out, a.block.Text)
}

// endArguments ends the object that the open call's arguments are in.
func (a *messagesAnswer) endArguments() {
	if a.lane == callLane && a.call.wrapped {
		a.out = a.events.AppendDelta(a.out, anthropic.AppendUnparsedClose(nil, a.call.length))
	}
}
