package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// chatStream answers a Chat request with chunks.
type chatStream struct {
	ending
	Outbox
	choices []chatStreamChoice
}

// chatStreamChoice is one choice of a stream. Chunks of different choices are interleaved as they come.
type chatStreamChoice struct {
	turn
	stream *chatStream
	env    Env
	index  int
	chunks openai.ChatChunks
	// contentSent reports whether a chunk with content was written.
	contentSent bool
	// logprobs holds the logprobs of tokens whose text has not come yet.
	logprobs []byte
	// kind is the kind of the open call.
	kind openai.CallKind
	ids  *TokenIDs
}

func newChatStream(r *Request) *chatStream {
	a := &chatStream{choices: make([]chatStreamChoice, max(r.Choices, 1))}
	for i := range a.choices {
		a.choices[i] = chatStreamChoice{
			turn: r.newTurn(), stream: a, env: r.env, index: i, ids: r.ids,
			chunks: openai.NewChatChunks(r.chatHead(), i, r.includeUsage, r.reasoning, r.textOnly()),
		}
	}
	return a
}

// textOnly reports whether the content of every choice will be a string. Then no call can come, and an answer without a
// final message is written as an empty one.
func (r *Request) textOnly() bool {
	return len(r.tools) == 0 && !r.answers.RequireFinalChannel && r.answers.UndeclaredCalls != contract.CallsAsCalls
}

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
		c.stream.out = c.chunks.AppendCall(c.stream.out, index, c.kind, c.idOfCall(callIDIn(c.env, c.index, index)), tool.name)
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
		c.sendContent(text)
	}
}

func (c *chatStreamChoice) sendContent(text []byte) {
	c.stream.out = c.chunks.AppendContent(c.stream.out, text, c.logprobs)
	c.logprobs, c.contentSent = c.logprobs[:0], true
}

// Logprob implements [Choice]. It keeps a token's logprob until there is text for a chunk. The logprob of a token that
// ends within a character goes into the chunk of the token that completes the character (RATIONALE.md#37).
func (c *chatStreamChoice) Logprob(l *openai.Logprob) {
	if c.lane == finalLane && !c.stream.ended {
		c.logprobs = openai.AppendLogprob(c.logprobs, l)
	}
}

func (c *chatStreamChoice) Close(end harmony.End) { c.close(end) }

// End implements [Choice]. It marks an answer without text as empty, unless its content is null.
func (c *chatStreamChoice) End(f Finish) {
	if c.stream.ended {
		return
	}
	if !c.contentIsNull(f) && !c.contentSent {
		c.sendContent(nil)
	}
	c.stream.out = c.chunks.AppendFinish(c.stream.out, c.finishReason(f), c.ids.members())
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

// Full implements [Answer]. A stream holds nothing but the ids.
func (a *chatStream) Full() bool { return a.choices[0].ids.Full() }

func (a *chatStream) ContentType() string { return typeStream }
