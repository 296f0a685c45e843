package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// conversationLimit is the maximum length of the conversation that is kept for a stream of channel events, in bytes of
// JSON. That is about 60,000 tokens. A stream holds this memory as long as it lasts.
const conversationLimit = 256 << 10

// carriedLimit is the maximum length of all conversations in one answer together, in bytes. A model may continue after
// a call, so there can be several.
const carriedLimit = 4 * conversationLimit

// ByChannels makes the answer to a streamed Chat request a stream of channel events (docs/channel-events.md). It keeps
// the conversation, which the events of calls carry, because its texts lie in a body that will be gone
// (RATIONALE.md#45). If clients are shown no reasoning, it keeps nothing. ByChannels overwrites scratch and returns it,
// grown if necessary.
func (r *Request) ByChannels(scratch []byte) []byte {
	limit := conversationLimit
	if r.reasoning == openai.NoReasoning {
		limit = 0
	}
	return r.transcribe(scratch, limit)
}

// ByChannelsAlone is [Request.ByChannels] for servers that take conversations. Their prompt is their own, so the events
// of calls carry no conversation.
func (r *Request) ByChannelsAlone() {
	r.transcript, _ = harmony.NewTranscript(nil, &harmony.Conversation{}, harmony.DropBeforeLastFinal, 0)
}

// channelStream answers a Chat request with channel events:
//
//	( analysis | commentary | token | tool_call )* ( done | error )
//
// A call is one event, sent when its message has ended. A call that was cut waits until the reason is known. It is sent
// if another message begins or if the model stopped by itself. It is not sent at the token limit or before an error.
type channelStream struct {
	turn
	ending
	Outbox
	finish     Finish
	failed     bool
	env        Env
	head       openai.ChatHead
	reasoning  openai.ReasoningFields
	transcript *harmony.Transcript
	// message is the index of the open message, or of the next one if none is open.
	message int
	call    openai.EventCall
	calling bool
	// carried is the length of the conversations sent so far, in bytes.
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
	a.transcript.Open(a.historyHeader(h, tool))
	if tool != nil {
		a.calling = true
		a.call = openai.EventCall{
			Kind: callKind(tool), ID: a.idOfCall(callID(a.env, a.tally.Calls-1)), Name: tool.name, Arguments: a.call.Arguments[:0],
		}
	}
}

// historyHeader returns a message's header for the conversation. Calls and answers get the header that they have in a
// history, even if the model's own header is incomplete.
func (t *turn) historyHeader(h harmony.Header, tool *shownTool) harmony.Header {
	switch {
	case tool != nil:
		h = harmony.Header{
			Role: harmony.Assistant, Recipient: tool.recipient(), Channel: tool.channel(),
			ContentType: tool.contentType(tool.custom),
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
		a.call.Arguments = rawjson.AppendEscaped(a.call.Arguments, rawjson.View(text))
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

// Logprob implements [Choice]. Channel events have no logprobs. A request that asks for both is refused.
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

// closeCall appends the event of a call that has ended, if there is one.
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

// End implements [Choice]. It appends the event of an open call. The last event of the stream waits for the usage.
func (a *channelStream) End(f Finish) {
	if a.ended {
		return
	}
	if f == Stop {
		a.closeCall()
	}
	a.finish, a.failed = f, a.lacksFinal(f) && a.requireFinal
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

// maxCallEvent is the maximum length of the arguments of one call, in bytes of JSON. One event carries them all.
const maxCallEvent = 8 << 20

// Full implements [Answer].
func (a *channelStream) Full() bool { return len(a.call.Arguments) > maxCallEvent }

func (a *channelStream) Tally() Tally { return a.tally }

func (a *channelStream) Fail(e *openai.Error) {
	if a.end() {
		a.out = openai.AppendEventError(a.out, e, nil)
	}
}

func (a *channelStream) ContentType() string { return typeStream }
