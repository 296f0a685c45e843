package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// chatStream answers a Chat request with chunks.
type chatStream struct {
	ending
	outbox
	choices []chatStreamChoice
}

// chatStreamChoice is one choice of a stream; its chunks go among those of the others as they come.
type chatStreamChoice struct {
	turn
	stream *chatStream
	env    Env
	index  int
	chunks openai.ChatChunks
	// told says that there was a chunk with content.
	told bool
	// likely are the logprobs of tokens whose text is still to come.
	likely []byte
	// kind is that of the call that is open.
	kind openai.CallKind
}

func newChatStream(r *Request) *chatStream {
	a := &chatStream{choices: make([]chatStreamChoice, max(r.Choices, 1))}
	for i := range a.choices {
		a.choices[i] = chatStreamChoice{
			turn: r.newTurn(), stream: a, env: r.env, index: i,
			chunks: openai.NewChatChunks(r.chatHead(), i, r.includeUsage, r.reasoning, r.textOnly()),
		}
	}
	return a
}

// textOnly reports whether every choice's content will be a text, whatever the model does: no call can come, and an answer
// without a final message is not told from an empty one.
func (r *Request) textOnly() bool { return len(r.tools) == 0 && !r.answers.RequireFinalChannel }

func (a *chatStream) Choices() []Choice {
	list := make([]Choice, 0, len(a.choices))
	for i := range a.choices {
		list = append(list, &a.choices[i])
	}
	return list
}

func (a *chatStream) Begin() {
	for i := range a.choices {
		a.out = a.choices[i].chunks.AppendRole(a.out)
	}
}

func (c *chatStreamChoice) Open(h harmony.Header) {
	if c.stream.ended {
		return
	}
	if tool := c.open(h); tool != nil {
		index := c.tally.Calls - 1
		c.kind = callKind(tool)
		c.stream.out = c.chunks.AppendCall(c.stream.out, index, c.kind, callIDIn(c.env, c.index, index), tool.name)
	}
}

func (c *chatStreamChoice) Content(text []byte, tokens int) {
	if c.stream.ended {
		return
	}
	c.content(text, tokens)
	if len(text) == 0 {
		return
	}
	switch c.lane {
	case reasoningLane:
		c.stream.out = c.chunks.AppendReasoning(c.stream.out, text)
	case callLane:
		c.stream.out = c.chunks.AppendArguments(c.stream.out, c.tally.Calls-1, c.kind, text)
	default:
		c.say(text)
	}
}

func (c *chatStreamChoice) say(text []byte) {
	c.stream.out = c.chunks.AppendContent(c.stream.out, text, c.likely)
	c.likely, c.told = c.likely[:0], true
}

// Logprob keeps a token's logprob until there is text to show it with: a token that ends within a character goes with the
// one that completes it.
func (c *chatStreamChoice) Logprob(l *openai.Logprob) {
	if c.lane == finalLane && !c.stream.ended {
		c.likely = openai.AppendLogprob(c.likely, l)
	}
}

func (c *chatStreamChoice) Close(end harmony.End) { c.close(end) }

// End says of an answer without text that it is empty, where it is not none.
func (c *chatStreamChoice) End(f Finish) {
	if c.stream.ended {
		return
	}
	if !c.noContent(f) && !c.told {
		c.say(nil)
	}
	c.stream.out = c.chunks.AppendFinish(c.stream.out, c.finishReason(f))
}

func (a *chatStream) Finish(u Usage, _ int64) {
	if !a.end() {
		return
	}
	a.out = a.choices[0].chunks.AppendDone(a.out, u.visible(a.Tally().Reasoning))
}

func (a *chatStream) Tally() Tally {
	var sum Tally
	for i := range a.choices {
		sum.add(&a.choices[i].tally)
	}
	return sum
}

func (a *chatStream) Fail(e *openai.Error) {
	if a.end() {
		a.out = a.choices[0].chunks.AppendFailure(a.out, e)
	}
}

// Full implements [Answer]. A stream holds nothing.
func (a *chatStream) Full() bool { return false }

func (a *chatStream) ContentType() string { return typeStream }
