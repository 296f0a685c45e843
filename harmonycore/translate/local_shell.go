package translate

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// settle says what a call of the local shell is, of which nothing is told before its arguments have ended with a status:
// only then is it known whether they are an action. What is none, or was cut, is a function's call: so nothing of it is
// lost, and a client without such a function tells the model.
func (a *responsesAnswer) settle(status string) {
	if action, ok := openai.LocalShellAction(nil, a.plain); ok && status == openai.StatusCompleted {
		a.item.Text = action
		return
	}
	a.item.Kind, a.item.ID = openai.OutputCall, "fc_"+a.env.ID+"_"+strconv.Itoa(a.index)
}
