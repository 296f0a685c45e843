package translate

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// sendLateItem opens an item that was held back until its end, and writes its text: only now is its kind known. status
// is the item's status. sendLateItem reports whether the item is sent at all. Half a call of a built-in tool is not
// (RATIONALE.md#84).
func (a *responsesAnswer) sendLateItem(status string) bool {
	switch {
	case a.item.Kind == openai.OutputLocalShellCall:
		a.decideShellCall(status)
	case a.item.Kind == openai.OutputSearchCall:
		a.item.Text = openai.SearchArguments(nil, a.plain)
	case status == openai.StatusIncomplete:
		a.tally.IncompleteBuiltIns++
		return false
	case !a.item.Hidden:
		a.item.Text = rawjson.AppendEscaped(a.item.Text, rawjson.View(a.plain))
	}
	if a.stream {
		a.out = a.events.AppendItemOpened(a.out, a.index, &a.item)
		if len(a.item.Text) > 0 && !hasNoDeltas(a.item.Kind) {
			a.out = a.events.AppendDelta(a.out, &a.item, a.item.Text, nil)
		}
	}
	return true
}

// hasNoDeltas reports whether items of a kind come whole.
func hasNoDeltas(kind openai.OutputKind) bool {
	return kind == openai.OutputLocalShellCall || kind == openai.OutputSearchCall
}

// decideShellCall decides what a call of the local shell is. It is an action if its arguments are a valid one.
// Otherwise, or if it was cut, it becomes a function's call. Nothing is lost that way, and a client without such a
// function reports that to the model (RATIONALE.md#53).
func (a *responsesAnswer) decideShellCall(status string) {
	if action, ok := openai.LocalShellAction(nil, a.plain); ok && status == openai.StatusCompleted {
		a.item.Text = action
		return
	}
	a.item.Kind, a.item.ID = openai.OutputCall, "fc_"+a.env.ID+"_"+strconv.Itoa(a.index)
	a.item.Text = rawjson.AppendEscaped(a.item.Text, rawjson.View(a.plain))
}
