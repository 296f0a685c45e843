package exchange

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// ObservedKind is something that the gateway counts of requests that pass it untouched.
type ObservedKind uint8

// Observed has the counts of one request.
type Observed [observedKinds]int

// The kinds. All but the first four are about choices of the answer.
const (
	// ObservedRequest is a request that was observed.
	ObservedRequest ObservedKind = iota
	// ObservedRefused is one that the gateway would have refused. ObservedRouted is one that it would have sent to the
	// responses service.
	ObservedRefused
	ObservedRouted
	// ObservedError is a request to which the servers answered with an error.
	ObservedError
	// ObservedUnreadable is an answer that was not read to its end: its form is not known, or it is too large.
	ObservedUnreadable
	// ObservedOtherPrompt is a prompt that has not as many tokens at the servers as the gateway's.
	ObservedOtherPrompt
	// ObservedControlTokens is a choice with a control token in its text or its reasoning.
	ObservedControlTokens
	// ObservedMessages is a choice with further messages in its text, such as reasoning.
	ObservedMessages
	// ObservedTextCalls is a choice with a call in its text.
	ObservedTextCalls
	// ObservedUnfitArguments counts calls whose arguments do not fit the declared schema.
	ObservedUnfitArguments
	// ObservedUndeclared counts calls of functions that the request does not declare.
	ObservedUndeclared
	// ObservedNoAnswer is a choice that the model ended without text and without a call.
	ObservedNoAnswer

	observedKinds = iota
)

var observedNames = [observedKinds]string{
	ObservedRequest: "request", ObservedRefused: "refused", ObservedRouted: "routed", ObservedError: "error",
	ObservedUnreadable: "unreadable", ObservedOtherPrompt: "other_prompt", ObservedControlTokens: "control_tokens",
	ObservedMessages: "messages_in_text", ObservedTextCalls: "call_in_text", ObservedUnfitArguments: "unfit_arguments",
	ObservedUndeclared: "undeclared_call", ObservedNoAnswer: "no_answer",
}

// String returns the kind's name in metrics.
func (k ObservedKind) String() string {
	if int(k) < len(observedNames) {
		return observedNames[k]
	}
	return ""
}

// observedChoice counts what the gateway would have repaired in one choice.
type observedChoice struct {
	// answer gets the messages as the server has separated them: reasoning, text and calls.
	answer *translate.Observer
	open   observedPart
	// opened is the number of those messages.
	opened int
	// call is the server's number of the open call.
	call int
	// text reads the text as if the server had separated nothing.
	text     *harmony.TextParser
	messages textMessages
	// tails are the last bytes of the text and of the reasoning, in which a spelling may begin.
	textTail, reasoningTail lastBytes
	spelled, textCall       bool
}

// observedPart is a part of an answer.
type observedPart uint8

const (
	noPart observedPart = iota
	reasoningPart
	textPart
	callPart
)

func newObservedChoice(r *translate.Request) *observedChoice {
	c := &observedChoice{answer: r.NewObserver()}
	c.text = harmony.NewTextParser(&c.messages, harmony.TextOptions{Dialect: harmony.Stripped})
	return c
}

// toolCallMark begins a call in the text of models that are not gpt-oss.
const toolCallMark = "<tool_call>"

func (c *observedChoice) take(e *backend.Event) {
	if len(e.Reasoning) > 0 {
		c.begin(reasoningPart, harmony.Header{Role: harmony.Assistant, Channel: harmony.Analysis})
		c.answer.Content(e.Reasoning, 0)
		c.spelled = c.spelled || spellsControl(c.reasoningTail.join(e.Reasoning))
	}
	if len(e.Text) > 0 {
		c.begin(textPart, harmony.Header{Role: harmony.Assistant, Channel: harmony.Final})
		c.answer.Content(e.Text, 0)
		joined := c.textTail.join(e.Text)
		c.spelled = c.spelled || spellsControl(joined)
		c.textCall = c.textCall || bytes.Contains(joined, []byte(toolCallMark))
		c.text.Write(e.Text, 0)
	}
	for i := range e.Calls {
		piece := &e.Calls[i]
		if len(piece.Name) > 0 {
			c.close(harmony.EndedByCall)
			c.begin(callPart, harmony.Header{Role: harmony.Assistant, Channel: harmony.Commentary, ContentType: "json",
				Recipient: translate.FunctionPrefix + string(piece.Name[:min(len(piece.Name), maxFunctionName)])})
			c.call = piece.Index
		}
		if c.open == callPart && c.call == piece.Index {
			c.answer.Content(piece.Arguments, 0)
		}
	}
	if e.Finish != backend.Running {
		c.end(e.Finish)
	}
}

// begin opens a message for a part, unless one is open.
func (c *observedChoice) begin(part observedPart, h harmony.Header) {
	if c.open != part {
		c.close(harmony.EndedByEnd)
		c.open = part
		c.opened++
		c.answer.Open(h)
	}
}

func (c *observedChoice) close(end harmony.End) {
	if c.open != noPart {
		c.open = noPart
		c.answer.Close(end)
	}
}

func (c *observedChoice) end(finish backend.Finish) {
	switch finish {
	case backend.Stopped:
		c.close(harmony.EndedByCall)
		c.answer.End(translate.Stop)
	case backend.Length, backend.Repeated:
		c.close(harmony.Cut)
		c.answer.End(translate.Length)
	default:
		c.close(harmony.Cut)
	}
	c.text.Finish()
}

// complement adds what was seen of the choice. known reports whether the request's tools are known.
func (c *observedChoice) complement(o *Observed, known bool) {
	o.countIf(ObservedControlTokens, c.spelled)
	o.countIf(ObservedMessages, c.messages.reasoning || c.messages.opened > 1)
	o.countIf(ObservedTextCalls, c.textCall || c.messages.called)
	o.countIf(ObservedNoAnswer, c.answer.Tally().NoFinal > 0 && c.answer.Undeclared == 0)
	if known {
		o[ObservedUnfitArguments] += c.answer.Tally().UnfitArguments
		o[ObservedUndeclared] += c.answer.Undeclared
	}
}

func (o *Observed) countIf(kind ObservedKind, condition bool) {
	if condition {
		o[kind]++
	}
}

// textMessages notes the messages that a parser finds in a text. Plain text is one, without any header.
type textMessages struct {
	opened            int
	reasoning, called bool
}

// Open implements [harmony.Sink].
func (m *textMessages) Open(h harmony.Header) {
	m.opened++
	m.reasoning = m.reasoning || h.Channel == harmony.Analysis
	m.called = m.called || h.Recipient != ""
}

// Content implements [harmony.Sink].
func (*textMessages) Content([]byte, int) {}

// Close implements [harmony.Sink].
func (*textMessages) Close(harmony.End) {}

// lastBytes are the last bytes of a text that comes in pieces.
type lastBytes []byte

// maxSpelling is more than the size of the longest spelling that is looked for, in bytes.
const maxSpelling = 32

// join returns the last bytes before a piece, and the piece. The result is valid until the next call.
func (l *lastBytes) join(piece []byte) []byte {
	kept := (*l)[max(len(*l)-maxSpelling, 0):]
	if cap(*l) > maxKeptCopy {
		kept = bytes.Clone(kept)
		*l = kept
	} else {
		*l = (*l)[:copy(*l, kept)]
	}
	*l = append(*l, piece...)
	return *l
}
