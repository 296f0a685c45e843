package translate

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/jsontext"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

func (r *Request) chatHead() openai.ChatHead {
	return openai.ChatHead{ID: "chatcmpl-" + r.env.ID, Created: r.env.Now, Model: r.Model}
}

func (t *turn) finishReason(f Finish) string {
	switch {
	case f == Length:
		return openai.FinishLength
	case t.tally.Calls > 0:
		return openai.FinishToolCalls
	default:
		return openai.FinishStop
	}
}

func (t *turn) usage(u Usage) openai.Usage {
	return openai.Usage{
		PromptTokens: u.PromptTokens, CachedTokens: u.CachedTokens, CachedKnown: u.CachedKnown,
		CompletionTokens: u.CompletionTokens, ReasoningTokens: t.tally.Reasoning,
	}
}

// callID is the id of the call with this index, the same in a stream and in a whole answer.
func callID(env Env, index int) string {
	return "call_" + env.ID + "_" + strconv.Itoa(index)
}

// chatStream answers a Chat request with chunks.
type chatStream struct {
	turn
	env    Env
	chunks openai.ChatChunks
	out    []byte
}

func newChatStream(r *Request) *chatStream {
	return &chatStream{
		turn: turn{tools: r.tools}, env: r.env, chunks: openai.NewChatChunks(r.chatHead(), r.includeUsage),
	}
}

func (a *chatStream) Begin() { a.out = a.chunks.AppendRole(a.out) }

func (a *chatStream) Open(h harmony.Header) {
	if a.ended {
		return
	}
	if tool := a.open(h); tool != nil {
		index := a.tally.Calls - 1
		a.out = a.chunks.AppendCall(a.out, index, callID(a.env, index), tool.name)
	}
}

func (a *chatStream) Content(text []byte, tokens int) {
	if a.ended {
		return
	}
	a.count(tokens)
	if len(text) == 0 {
		return
	}
	switch a.lane {
	case reasoningLane:
		a.out = a.chunks.AppendReasoning(a.out, text)
	case callLane:
		a.out = a.chunks.AppendArguments(a.out, a.tally.Calls-1, text)
	default:
		a.out = a.chunks.AppendContent(a.out, text)
	}
}

func (a *chatStream) Close(harmony.End) {}

func (a *chatStream) Finish(f Finish, u Usage) {
	if a.end() {
		a.out = a.chunks.AppendFinish(a.out, a.finishReason(f), a.usage(u))
	}
}

func (a *chatStream) Fail(e *openai.Error) {
	if a.end() {
		a.out = a.chunks.AppendFailure(a.out, e)
	}
}

func (a *chatStream) Take(dst []byte) []byte {
	dst = append(dst, a.out...)
	a.out = a.out[:0]
	return dst
}

func (a *chatStream) ContentType() string { return typeStream }

// chatWhole answers a Chat request with one object, which says what the chunks would have said.
type chatWhole struct {
	turn
	env          Env
	requireFinal bool
	answer       openai.ChatCompletion
	out          []byte
}

func newChatWhole(r *Request) *chatWhole {
	return &chatWhole{
		turn: turn{tools: r.tools}, env: r.env, requireFinal: r.requireFinal, answer: openai.ChatCompletion{Head: r.chatHead()},
	}
}

func (a *chatWhole) Begin() {}

func (a *chatWhole) Open(h harmony.Header) {
	if a.ended {
		return
	}
	a.closeCall()
	if tool := a.open(h); tool != nil {
		a.answer.ToolCalls = openai.AppendCallOpen(a.answer.ToolCalls, callID(a.env, a.tally.Calls-1), tool.name)
	}
}

func (a *chatWhole) Content(text []byte, tokens int) {
	if a.ended {
		return
	}
	a.count(tokens)
	switch a.lane {
	case reasoningLane:
		a.answer.Reasoning = jsontext.AppendEscaped(a.answer.Reasoning, string(text))
	case callLane:
		a.answer.ToolCalls = jsontext.AppendEscaped(a.answer.ToolCalls, string(text))
	default:
		a.answer.Content = jsontext.AppendEscaped(a.answer.Content, string(text))
	}
}

func (a *chatWhole) Close(harmony.End) { a.closeCall() }

// closeCall ends the text of a call, once.
func (a *chatWhole) closeCall() {
	if a.lane == callLane {
		a.answer.ToolCalls = openai.AppendCallClose(a.answer.ToolCalls)
	}
	a.lane = reasoningLane
}

func (a *chatWhole) Finish(f Finish, u Usage) {
	if !a.end() {
		return
	}
	a.closeCall()
	a.answer.FinishReason = a.finishReason(f)
	a.answer.Usage = a.usage(u)
	a.answer.NoContent = a.requireFinal && f == Stop && a.NoFinal()
	a.out = a.answer.AppendJSON(a.out)
}

func (a *chatWhole) Fail(e *openai.Error) {
	if a.end() {
		a.out = e.AppendJSON(a.out)
	}
}

func (a *chatWhole) Take(dst []byte) []byte {
	dst = append(dst, a.out...)
	a.out = nil
	return dst
}

func (a *chatWhole) ContentType() string { return typeJSON }
