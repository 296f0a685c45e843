package translate

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// messagesAnswer answers a Messages request, whole or as events. One state machine makes both.
//
//	begun ─▶ (block opened ─▶ delta* ─▶ signature? ─▶ block closed)* ─▶ message_delta message_stop | error
//
// Each message of the model is a block, with three exceptions. An empty text is none, since the API has no empty texts.
// Behind a call there are only further calls: text and reasoning there are left out (RATIONALE.md#236). Reasoning that
// is not shown waits for what follows it, and is a block only before a call and its preamble (RATIONALE.md#237).
//
// A block whose message was cut stays open until the reason is known: an error comes within it, so that no client takes
// half a call for a whole one.
type messagesAnswer struct {
	turn
	ending
	Outbox
	finish  Finish
	env     Env
	stream  bool
	message anthropic.Message
	events  anthropic.Events
	block   anthropic.OutputBlock
	// thinking is what the client sees of the reasoning. sealed reports whether it gets reasoning sealed.
	thinking anthropic.Thinking
	sealed   bool
	trail    *Trail
	// reading reports whether a message of the model is open or its end is not decided. cut reports whether it was cut,
	// and cutCall whether the answer has ended within a call.
	reading, cut, cutCall bool
	// keeps reports whether the message's text is collected in plain, and shows whether it goes into the block. Without
	// both it is not for the client. opened reports whether the block is open.
	keeps, shows, opened bool
	plain                []byte
	// call is how the arguments of the open call are streamed.
	call streamedCall
	// hidden are the sealed texts of the reasoning that waits for what follows it.
	hidden [][]byte
	// beforeCall reports whether a call comes after the message that closes.
	beforeCall bool
}

func newMessagesAnswer(r *Request) *messagesAnswer {
	a := &messagesAnswer{
		turn: r.newTurn(), env: r.env, stream: r.Stream, thinking: r.thinking, trail: r.trail,
		sealed:  r.sealed && r.env.Sealing.Keys != nil,
		message: anthropic.Message{ID: "msg_" + r.env.ID, Model: r.Model},
	}
	a.message.Usage.Prompt = r.promptTokens
	if r.answers.HideReasoning {
		a.thinking = anthropic.ThinkingOff
	}
	return a
}

// Tally implements [Answer].
func (a *messagesAnswer) Tally() Tally { return a.tally }

// Choices implements [Answer].
func (a *messagesAnswer) Choices() []Choice { return []Choice{a} }

// Begin implements [Answer].
func (a *messagesAnswer) Begin() {
	if a.stream {
		a.out = a.events.AppendStart(a.out, &a.message)
	}
}

// Open implements [harmony.Sink].
func (a *messagesAnswer) Open(h harmony.Header) {
	if a.ended {
		return
	}
	a.beforeCall = h.Kind() == harmony.PartToolCall
	a.closeMessage(true)
	a.beforeCall = false
	tool := a.open(h)
	a.trail.opened(a.lane == reasoningLane)
	a.reading, a.cut, a.keeps, a.shows, a.plain = true, false, false, false, a.plain[:0]
	a.block = anthropic.OutputBlock{Text: a.block.Text[:0]}
	switch {
	case tool != nil:
		a.block.Kind, a.block.Name = anthropic.OutputToolUse, tool.name
		a.block.ID = a.idOfCall("toolu_" + a.env.ID + "_" + strconv.Itoa(a.tally.Calls-1))
		a.shows, a.keeps, a.call = a.stream, !a.stream, streamedCall{}
		a.openBlock()
	case a.tally.Calls > 0:
		a.tally.AfterCalls++
	case a.lane == reasoningLane:
		a.block.Kind = anthropic.OutputThinking
		late := a.isLate()
		a.keeps = a.sealed || late
		a.shows = a.thinking == anthropic.ThinkingShown && !late
		if a.thinking != anthropic.ThinkingOff && !late {
			a.openBlock()
		}
	default:
		a.block.Kind, a.shows = anthropic.OutputText, true
	}
}

// isLate reports whether the open message is sent only when it is whole: it is a call of a built-in tool that the
// request does not offer (RATIONALE.md#84).
func (a *messagesAnswer) isLate() bool { return a.builtIn && a.lane == reasoningLane }

// Content implements [harmony.Sink].
func (a *messagesAnswer) Content(text []byte, tokens int) {
	if a.ended || !a.reading {
		return
	}
	a.content(text, tokens)
	if a.keeps {
		a.plain = append(a.plain, text...)
	}
	switch {
	case !a.shows || len(text) == 0:
	case a.lane == callLane:
		a.showArguments(text)
	default:
		a.show(text)
	}
}

// show writes text of the block, and opens the block before the first.
func (a *messagesAnswer) show(text []byte) {
	if !a.opened {
		a.openBlock()
	}
	if a.stream {
		a.out = a.events.AppendDelta(a.out, text)
	} else {
		a.block.Text = rawjson.AppendEscaped(a.block.Text, rawjson.View(text))
	}
}

// openBlock opens the block, behind the reasoning that has waited for it.
func (a *messagesAnswer) openBlock() {
	a.opened = true
	if a.lane != finalLane {
		a.sendHidden()
	}
	a.hidden = a.hidden[:0]
	if a.stream {
		a.out = a.events.AppendBlockOpened(a.out, &a.block)
	}
}

// sendHidden sends the reasoning that is not shown.
func (a *messagesAnswer) sendHidden() {
	for _, sealed := range a.hidden {
		block := anthropic.OutputBlock{Kind: anthropic.OutputRedacted, Sealed: sealed}
		if a.stream {
			a.out = a.events.AppendWholeBlock(a.out, &block)
		} else {
			a.appendBlock(&block)
		}
	}
}

// appendBlock adds a block to a whole answer.
func (a *messagesAnswer) appendBlock(block *anthropic.OutputBlock) {
	if len(a.message.Content) > 0 {
		a.message.Content = append(a.message.Content, ',')
	}
	a.message.Content = anthropic.AppendOutput(a.message.Content, block)
}

// Logprob implements [Choice]. Messages has no logprobs.
func (a *messagesAnswer) Logprob(*openai.Logprob) {}

// Close implements [harmony.Sink].
func (a *messagesAnswer) Close(end harmony.End) {
	a.close(end)
	a.trail.closed(a.lane == reasoningLane)
	a.cut = end == harmony.Cut
	if a.cut || a.trail != nil && a.sealed && a.lane == reasoningLane {
		return // the reason is told later, or the next header is sealed with it
	}
	a.closeMessage(true)
}

// closeMessage ends the block of the message that was opened last. goesOn reports whether the model went on behind it,
// or ended by itself.
func (a *messagesAnswer) closeMessage(goesOn bool) {
	if !a.reading || a.ended {
		return
	}
	a.reading = false
	if a.block.Kind == anthropic.OutputThinking {
		a.closeReasoning(goesOn || !a.cut)
	}
	if !a.opened {
		return
	}
	a.opened = false
	if a.stream {
		a.endArguments()
		a.out = a.events.AppendBlockClosed(a.out)
		return
	}
	a.block.Arguments = a.plain
	a.appendBlock(&a.block)
}

// closeReasoning seals the open message's reasoning, and sends what has waited for its end. Half a call of a built-in
// tool is not sent (RATIONALE.md#84).
func (a *messagesAnswer) closeReasoning(whole bool) {
	if a.isLate() {
		if !whole {
			a.tally.IncompleteBuiltIns++
			return
		}
		if a.thinking != anthropic.ThinkingOff {
			a.openBlock()
		}
		if a.thinking == anthropic.ThinkingShown && len(a.plain) > 0 {
			a.show(a.plain)
		}
	}
	a.block.Sealed = []byte(`""`)
	if a.sealed {
		a.block.Sealed = a.trail.seal(&a.env, a.message.Model, a.plain, a.beforeCall)
	}
	switch {
	case a.thinking == anthropic.ThinkingOff && a.sealed:
		a.hidden = append(a.hidden, a.block.Sealed)
	case a.opened && a.stream:
		a.out = a.events.AppendSignature(a.out, &a.block)
	}
}

// stoppedAt implements [stopTeller].
func (a *messagesAnswer) stoppedAt(sequence string) { a.message.StopSequence = sequence }

// End implements [Choice]. The last events of the message wait for the usage.
func (a *messagesAnswer) End(f Finish) {
	a.lacksFinal(f)
	a.finish, a.cutCall = f, a.reading && a.cut && a.lane == callLane
	a.closeMessage(f == Stop)
}

// stopReason returns why the message ended. Calls that are whole are to be run, also if the limit came in what is left
// out behind them.
func (a *messagesAnswer) stopReason(u *Usage) string {
	switch {
	case a.finish == Filtered:
		return anthropic.StopRefusal
	case a.tally.Calls > 0 && (a.finish == Stop || !a.cutCall):
		return anthropic.StopToolUse
	case a.finish == Length && u.WindowFull:
		return anthropic.StopWindow
	case a.finish == Length || a.finish == Repetition:
		return anthropic.StopMaxTokens
	case a.message.StopSequence != "":
		return anthropic.StopSequence
	default:
		return anthropic.StopEndTurn
	}
}

// Finish implements [Answer].
func (a *messagesAnswer) Finish(u Usage, _ int64) {
	if !a.end() {
		return
	}
	if a.message.StopReason = a.stopReason(&u); a.message.StopReason != anthropic.StopSequence {
		a.message.StopSequence = ""
	}
	a.message.Usage = u.inMessages(a.tally.Reasoning)
	if a.stream {
		a.out = a.events.AppendEnd(a.out, &a.message)
	} else {
		a.out = a.message.AppendJSON(a.out)
	}
}

// inMessages is visible in the form of Messages.
func (u Usage) inMessages(reasoning int) anthropic.Usage {
	v := u.visible(reasoning)
	return anthropic.Usage{
		Prompt: v.PromptTokens, Cached: v.CachedTokens, Output: v.CompletionTokens, Thinking: v.ReasoningTokens,
	}
}

// Fail implements [Answer]. In a stream the open block stays open.
func (a *messagesAnswer) Fail(e *openai.Error) {
	switch {
	case !a.end():
	case a.stream:
		a.out = a.events.AppendFailure(a.out, e.InStream())
	default:
		a.out = anthropic.AppendError(a.out, e, "")
	}
}

// Full implements [Answer]. A stream holds reasoning that is to be sealed, and a whole answer everything.
func (a *messagesAnswer) Full() bool {
	size := len(a.message.Content) + len(a.block.Text) + len(a.plain)
	for _, sealed := range a.hidden {
		size += len(sealed)
	}
	return size > maxResponse
}

// ContentType implements [Answer].
func (a *messagesAnswer) ContentType() string {
	if a.stream {
		return typeStream
	}
	return typeJSON
}
