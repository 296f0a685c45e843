package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// chatWhole answers a Chat request with one object. It has the same content as the chunks of a stream.
type chatWhole struct {
	ending
	Outbox
	head      openai.ChatHead
	reasoning openai.ReasoningFields
	choices   []chatWholeChoice
}

// chatWholeChoice is one choice of a whole answer.
type chatWholeChoice struct {
	turn
	whole  *chatWhole
	env    Env
	index  int
	choice openai.ChatChoice
	ids    *TokenIDs
}

func newChatWhole(r *Request) *chatWhole {
	a := &chatWhole{head: r.chatHead(), reasoning: r.reasoning, choices: make([]chatWholeChoice, max(r.Choices, 1))}
	for i := range a.choices {
		a.choices[i] = chatWholeChoice{turn: r.newTurn(), whole: a, env: r.env, index: i, ids: r.ids}
	}
	return a
}

func (a *chatWhole) Choices() []Choice {
	list := make([]Choice, 0, len(a.choices))
	for i := range a.choices {
		list = append(list, &a.choices[i])
	}
	return list
}

func (a *chatWhole) Begin() {}

func (c *chatWholeChoice) Open(h harmony.Header) {
	if c.whole.ended {
		return
	}
	c.closeCall()
	if tool := c.open(h); tool != nil {
		c.choice.ToolCalls = openai.AppendCallOpen(
			c.choice.ToolCalls, callKind(tool), c.idOfCall(callIDIn(c.env, c.index, c.tally.Calls-1)), tool.name)
	}
}

func (c *chatWholeChoice) Content(text []byte, tokens int) {
	if c.whole.ended {
		return
	}
	c.content(text, tokens)
	switch c.lane {
	case reasoningLane:
		c.choice.Reasoning = rawjson.AppendEscaped(c.choice.Reasoning, rawjson.View(text))
	case callLane:
		c.choice.ToolCalls = rawjson.AppendEscaped(c.choice.ToolCalls, rawjson.View(text))
	default:
		c.choice.Content = rawjson.AppendEscaped(c.choice.Content, rawjson.View(text))
	}
}

// Logprob implements [Choice].
func (c *chatWholeChoice) Logprob(l *openai.Logprob) {
	if c.lane == finalLane && !c.whole.ended {
		c.choice.Logprobs = openai.AppendLogprob(c.choice.Logprobs, l)
	}
}

func (c *chatWholeChoice) Close(end harmony.End) {
	c.close(end)
	c.closeCall()
}

// closeCall ends the text of the open call, if there is one.
func (c *chatWholeChoice) closeCall() {
	if c.lane == callLane {
		c.choice.ToolCalls = openai.AppendCallClose(c.choice.ToolCalls)
	}
	c.lane = reasoningLane
}

func (c *chatWholeChoice) End(f Finish) {
	c.closeCall()
	c.choice.FinishReason = c.finishReason(f)
	c.choice.NoContent = c.contentIsNull(f)
	c.choice.TokenIDs = c.ids.members()
}

func (a *chatWhole) Finish(u Usage, _ int64) {
	if !a.end() {
		return
	}
	answer := openai.ChatCompletion{Head: a.head, Reasoning: a.reasoning,
		Choices: make([]openai.ChatChoice, 0, len(a.choices))}
	for i := range a.choices {
		answer.Choices = append(answer.Choices, a.choices[i].choice)
	}
	answer.Usage = u.visible(a.Tally().Reasoning)
	a.out = answer.AppendJSON(a.out)
}

func (a *chatWhole) Tally() Tally {
	var sum Tally
	for i := range a.choices {
		sum.add(&a.choices[i].tally)
	}
	return sum
}

// maxHeld is the maximum memory that a whole answer holds, in bytes. Copies of it are made at the end, so a larger one
// would endanger the VM with all its streams. No context has enough text to come near it, but 128 choices or 20
// alternatives for each token do.
const maxHeld = 32 << 20

// Full implements [Answer].
func (a *chatWhole) Full() bool {
	held := 0
	for i := range a.choices {
		c := &a.choices[i].choice
		held += len(c.Content) + len(c.Reasoning) + len(c.ToolCalls) + len(c.Logprobs)
	}
	return held > maxHeld || a.choices[0].ids.Full()
}

func (a *chatWhole) Fail(e *openai.Error) {
	if a.end() {
		a.out = e.AppendJSON(a.out)
	}
}

func (a *chatWhole) ContentType() string { return typeJSON }
