package translate

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// tellLate opens the item that has been held back until its end, with a status, and gives it its text: only now is it known
// what it is. It reports whether it is an item at all, which half a call of a built-in tool is not.
func (a *responsesAnswer) tellLate(status string) bool {
	switch {
	case a.item.Kind == openai.OutputLocalShellCall:
		a.settle(status)
	case status == openai.StatusIncomplete:
		a.tally.HalfBuiltIns++
		return false
	case !a.item.Hidden:
		a.item.Text = rawjson.AppendEscaped(a.item.Text, string(a.plain))
	}
	if a.stream {
		a.out = a.events.AppendItemOpened(a.out, a.index, &a.item)
		if len(a.item.Text) > 0 && a.item.Kind != openai.OutputLocalShellCall {
			a.out = a.events.AppendDelta(a.out, a.index, &a.item, a.plain, nil)
		}
	}
	return true
}

// settle says what a call of the local shell is: an action, if its arguments are one. What is none, or was cut, is a
// function's call: so nothing of it is lost, and a client without such a function tells the model.
func (a *responsesAnswer) settle(status string) {
	if action, ok := openai.LocalShellAction(nil, a.plain); ok && status == openai.StatusCompleted {
		a.item.Text = action
		return
	}
	a.item.Kind, a.item.ID = openai.OutputCall, "fc_"+a.env.ID+"_"+strconv.Itoa(a.index)
	a.item.Text = rawjson.AppendEscaped(a.item.Text, string(a.plain))
}
