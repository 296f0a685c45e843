package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// conversationLimit is how much of a conversation is kept for a stream of channel events, in bytes of JSON: some 60,000
// tokens. It is memory that a stream holds as long as it lasts.
const conversationLimit = 256 << 10

// carriedLimit is how much all conversations of an answer may have together, in bytes: a model may go on after a call.
const carriedLimit = 4 * conversationLimit

// ByChannels has a streamed Chat request answered with channel events (docs/channel-events.md), and keeps the conversation
// for its calls, since its texts lie in a body that will be gone. Where clients are shown no reasoning nothing is kept.
// scratch is overwritten, and returned grown.
func (r *Request) ByChannels(scratch []byte) []byte {
	most := conversationLimit
	if r.reasoning == openai.NoReasoning {
		most = 0
	}
	r.transcript, scratch = harmony.NewTranscript(scratch, &r.Conversation, harmony.DropBeforeLastFinal, most)
	return scratch
}

// channelStream answers a Chat request with channel events:
//
//	( analysis | commentary | token | tool_call )* ( done | error )
//
// A call is told as a whole, once its message has ended. One that was cut waits until it is known why: before another
// message, or where the model stopped by itself, it counts; at the token limit and before an error it does not.
type channelStream struct {
	turn
	ending
	outbox
	finish     Finish
	failed     bool
	env        Env
	head       openai.ChatHead
	reasoning  openai.ReasoningFields
	transcript *harmony.Transcript
	// message is the index of the model's message, the next one's while none is open.
	message int
	call    openai.EventCall
	calling bool
	// carried is how much has been told of conversations, in bytes.
	carried int
}

func newChannelStream(r *Request) *channelStream {
	return &channelStream{
		turn: r.newTurn(), env: r.env, head: r.chatHead(), reasoning: r.reasoning, transcript: r.transcript, message: -1,
	}
}

func (a *channelStream) Choices() []Choice { return []Choice{a} }

func (a *channelStream) Begin() {}

func (a *channelStream) Open(h harmony.Header) {
	if a.ended {
		return
	}
	a.closeCall()
	tool := a.open(h)
	a.message++
	a.transcript.Open(a.asTold(h, tool))
	if tool != nil {
		a.calling = true
		a.call = openai.EventCall{
			Kind: callKind(tool), ID: callID(a.env, a.tally.Calls-1), Name: tool.name, Arguments: a.call.Arguments[:0],
		}
	}
}

// asTold is a message's header in the conversation: that of a call and of an answer as they stand in a history, whatever
// the model has lost of it.
func (t *turn) asTold(h harmony.Header, tool *shownTool) harmony.Header {
	switch {
	case tool != nil:
		h = harmony.Header{
			Role: harmony.Assistant, Recipient: functions + "." + tool.shown, Channel: harmony.Commentary, ContentType: "json",
		}
		if tool.custom {
			h.ContentType = ""
		}
	case t.lane == finalLane:
		h.Channel = harmony.Final
	}
	return h
}

func (a *channelStream) Content(text []byte, tokens int) {
	if a.ended {
		return
	}
	a.content(text, tokens)
	a.transcript.Content(text, tokens)
	if len(text) == 0 {
		return
	}
	kind := openai.EventToken
	switch a.lane {
	case callLane:
		a.call.Arguments = rawjson.AppendEscaped(a.call.Arguments, string(text))
		return
	case reasoningLane:
		if a.reasoning == openai.NoReasoning {
			return
		}
		kind = openai.EventAnalysis
	case preambleLane:
		kind = openai.EventCommentary
	}
	a.out = openai.AppendEventText(a.out, kind, a.message, text)
}

// Logprob implements [Choice]. Channel events have no logprobs, and a request that asks for both is refused.
func (a *channelStream) Logprob(*openai.Logprob) {}

func (a *channelStream) Close(end harmony.End) {
	if a.ended {
		return
	}
	a.close(end)
	a.transcript.Close(end)
	if end != harmony.Cut {
		a.closeCall()
	}
}

// closeCall tells the call that has ended, once.
func (a *channelStream) closeCall() {
	if !a.calling {
		return
	}
	a.calling = false
	a.out = openai.AppendEventCall(a.out, a.message, a.tally.Calls-1, &a.call)
	before := len(a.out)
	if a.carried < carriedLimit {
		a.out = a.transcript.AppendJSON(a.out)
	} else {
		a.out = append(a.out, "null"...)
	}
	a.carried += len(a.out) - before
	a.out = openai.AppendEventCallClose(a.out)
}

// End tells a call that was open. The stream's own end waits for the usage.
func (a *channelStream) End(f Finish) {
	if a.ended {
		return
	}
	if f == Stop {
		a.closeCall()
	}
	a.finish, a.failed = f, a.noFinal(f) && a.requireFinal
}

func (a *channelStream) Finish(u Usage, _ int64) {
	if !a.end() {
		return
	}
	usage := u.visible(a.tally.Reasoning)
	if a.failed {
		a.out = openai.AppendEventError(a.out, openai.NoFinalChannel(), &usage)
		return
	}
	a.out = openai.AppendEventDone(a.out, &a.head, a.finishReason(a.finish), usage)
}

// mostArguments is how long the arguments of one call may be, in bytes of JSON: they are told in one piece.
const mostArguments = 8 << 20

// Full implements [Answer].
func (a *channelStream) Full() bool { return len(a.call.Arguments) > mostArguments }

func (a *channelStream) Tally() Tally { return a.tally }

func (a *channelStream) Fail(e *openai.Error) {
	if a.end() {
		a.out = openai.AppendEventError(a.out, e, nil)
	}
}

func (a *channelStream) ContentType() string { return typeStream }
