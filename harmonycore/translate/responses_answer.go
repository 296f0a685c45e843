package translate

import (
	"cmp"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// responsesAnswer answers a Responses request, whole or as events. One state machine makes both. They differ only in
// whether events are written.
//
//	begun ─▶ (item opened ─▶ delta* ─▶ item closed)* ─▶ completed | incomplete | error ─▶ failed
//
// Every opened item is closed before the next one opens and before the end, with or without text. A message that was
// cut stays open until the reason is known. It is incomplete at the token limit, and complete if another message
// follows. A call of a built-in tool that the request does not offer is sent as reasoning, in one piece when it is
// whole. Half a call means nothing and is dropped (RATIONALE.md#84).
type responsesAnswer struct {
	turn
	ending
	Outbox
	finish   Finish
	env      Env
	stream   bool
	response openai.Response
	events   openai.ResponsesEvents
	item     openai.OutputItem
	itemOpen bool
	index    int
	// logprobs holds the logprobs of tokens whose text has not come yet. logprobsInItems is the length of those already in
	// items, in bytes.
	logprobs        []byte
	logprobsInItems int
	// sealed reports whether the client wants its reasoning sealed. hidden reports whether reasoning is left out of the
	// answer. late reports whether the open item is sent only when it is whole. plain is the unescaped text of the open
	// item, if the item is late or is reasoning to be sealed.
	sealed, hidden, late bool
	// unphased is the request's.
	unphased bool
	plain    []byte
	// trail has the ids of the reasoning, or is nil. beforeCall reports whether a call comes after the item that closes.
	trail      *Trail
	beforeCall bool
	// reasoning is the kind of item that carries reasoning.
	reasoning openai.OutputKind
	// read and written are the Harmony messages for the client, or nil if it did not ask for them.
	read, written *harmony.Transcript
	// ids and sampled are what the last item has. They are nil if no item has them. With one of them an item is closed only
	// when the next one opens or the answer ends, and closing is the status that it will have.
	ids     *TokenIDs
	sampled *SampledIDs
	closing string
}

func newResponsesAnswer(r *Request) *responsesAnswer {
	a := &responsesAnswer{
		turn:   r.newTurn(),
		env:    r.env,
		stream: r.Stream,
		sealed: r.sealed,
		hidden: r.answers.HideReasoning,

		unphased: r.unphased,
		ids:      r.ids,
		sampled:  r.sampled,
		trail:    r.trail,

		reasoning: r.reasoningKind(),
		response: openai.Response{
			ID: "resp_" + r.env.ID, Model: r.Model, CreatedAt: r.env.Now,
			Status: openai.StatusInProgress, Effort: cmp.Or(r.effortWord, effortName(r.effort)), Echo: r.echo,
		},
	}
	a.keepMessages(r)
	return a
}

// reasoningKind returns the kind of item that carries reasoning. A client that asks for a summary may show nothing
// else.
func (r *Request) reasoningKind() openai.OutputKind {
	if r.answers.ReasoningSummary == contract.SummaryAlways || r.answers.ReasoningAsSummary && r.echo.Summary != "" {
		return openai.OutputSummary
	}
	return openai.OutputReasoning
}

func (a *responsesAnswer) Tally() Tally { return a.tally }

func (a *responsesAnswer) Choices() []Choice { return []Choice{a} }

func (a *responsesAnswer) Begin() {
	if a.stream {
		a.out = a.events.AppendResponse(a.out, "response.created", &a.response)
		a.out = a.events.AppendResponse(a.out, "response.in_progress", &a.response)
	}
}

func (a *responsesAnswer) Open(h harmony.Header) {
	if a.ended {
		return
	}
	a.beforeCall = h.Kind() == harmony.PartToolCall
	a.closeItem(openai.StatusCompleted)
	a.beforeCall = false
	tool := a.open(h)
	a.trail.opened(a.lane == reasoningLane)
	if a.written != nil {
		a.written.Open(a.historyHeader(h, tool))
	}
	id := a.env.ID + "_" + strconv.Itoa(a.index)
	a.item = openai.OutputItem{Status: openai.StatusInProgress, Text: a.item.Text[:0], Logprobs: a.item.Logprobs[:0]}
	a.logprobs, a.plain = a.logprobs[:0], a.plain[:0]
	switch {
	case tool != nil:
		a.item.Kind, a.item.ID = openai.OutputCall, "fc_"+id
		if tool.custom {
			a.item.Kind, a.item.ID = openai.OutputCustomCall, "ctc_"+id
		}
		if tool.localShell {
			a.item.Kind, a.item.ID = openai.OutputLocalShellCall, "lsh_"+id
		}
		if tool.search {
			a.item.Kind, a.item.ID = openai.OutputSearchCall, "tsc_"+id
		}
		a.item.CallID = a.idOfCall(callID(a.env, a.index))
		a.item.Name, a.item.Namespace = tool.name, tool.namespace
	case a.lane == reasoningLane:
		a.item.Kind = a.reasoning
		a.item.ID = "rs_" + id
		a.item.Hidden = a.hidden
		if a.sealed {
			a.item.Sealed = []byte("null")
		}
	default:
		a.item.Kind = openai.OutputMessage
		a.item.ID = "msg_" + id
		switch {
		case a.unphased:
		case a.lane == preambleLane:
			a.item.Phase = openai.PhaseCommentary
		default:
			a.item.Phase = openai.PhaseFinalAnswer
		}
	}
	a.itemOpen, a.closing = true, ""
	a.late = a.builtIn && a.lane == reasoningLane || hasNoDeltas(a.item.Kind)
	if a.stream && !a.late {
		a.out = a.events.AppendItemOpened(a.out, a.index, &a.item)
	}
}

func (a *responsesAnswer) Content(text []byte, tokens int) {
	if a.ended || !a.itemOpen {
		return
	}
	a.content(text, tokens)
	if len(text) == 0 {
		return
	}
	if a.written != nil {
		a.written.Content(text, tokens)
	}
	if a.item.Kind == a.reasoning && a.sealed || a.late {
		a.plain = append(a.plain, text...)
	}
	if a.item.Hidden || a.late {
		return
	}
	from := len(a.item.Text)
	a.item.Text = rawjson.AppendEscaped(a.item.Text, rawjson.View(text))
	if a.stream {
		a.out = a.events.AppendDelta(a.out, &a.item, a.item.Text[from:], a.logprobs)
	}
	if len(a.logprobs) > 0 {
		if len(a.item.Logprobs) > 0 {
			a.item.Logprobs = append(a.item.Logprobs, ',')
		}
		a.item.Logprobs = append(a.item.Logprobs, a.logprobs...)
		a.logprobsInItems += len(a.logprobs)
		a.logprobs = a.logprobs[:0]
	}
}

// Logprob implements [Choice]. It keeps a token's logprob until there is text for an event, as in Chat. Preambles are
// messages too and have logprobs.
func (a *responsesAnswer) Logprob(l *openai.Logprob) {
	if a.itemOpen && !a.ended && a.item.Kind == openai.OutputMessage {
		a.logprobs = openai.AppendLogprob(a.logprobs, l)
	}
}

// maxLogprobs is the maximum length of the logprobs in a response, in bytes. It is lower than for Chat, because each of
// a stream's last events has all of them.
const maxLogprobs = 4 << 20

// maxResponse is the maximum length of everything else in a response, in bytes of JSON. Each of a stream's last events
// has most of it. A full context of 131,072 tokens takes a tenth of it, unless it is one long run of spaces.
const maxResponse = 8 << 20

// Full implements [Answer].
func (a *responsesAnswer) Full() bool {
	size := len(a.response.Output) + len(a.item.Text) + len(a.plain) + a.ids.size() + a.sampled.size()
	return a.logprobsInItems > maxLogprobs || size > maxResponse+a.logprobsInItems
}

func (a *responsesAnswer) Close(end harmony.End) {
	a.close(end)
	if a.written != nil {
		a.written.Close(end)
	}
	a.trail.closed(a.lane == reasoningLane)
	switch {
	case end == harmony.Cut:
	case a.trail != nil && a.item.Kind == a.reasoning && a.sealed:
		a.closing = openai.StatusCompleted // the next header is sealed with it
	case a.ids != nil || a.sampled != nil:
		a.closing = openai.StatusCompleted // this may be the last item
	default:
		a.closeItem(openai.StatusCompleted)
	}
}

func (a *responsesAnswer) closeItem(status string) {
	if !a.itemOpen || a.ended {
		return
	}
	a.itemOpen = false
	if a.closing != "" {
		status = a.closing
	}
	if a.late && !a.sendLateItem(status) {
		return
	}
	a.item.Status = status
	if len(a.item.Sealed) > 0 {
		a.item.Sealed = a.trail.seal(&a.env, a.response.Model, a.plain, a.beforeCall)
	}
	if a.stream {
		a.out = a.events.AppendItemClosed(a.out, a.index, &a.item)
	}
	if len(a.response.Output) > 0 {
		a.response.Output = append(a.response.Output, ',')
	}
	a.response.Output = a.item.AppendJSON(a.response.Output)
	a.index++
}

// End implements [Choice]. It closes the open item. The last event of the response waits for the usage.
func (a *responsesAnswer) End(f Finish) {
	a.finish = f
	a.lacksFinal(f)
	status := openai.StatusCompleted
	if f != Stop {
		status = openai.StatusIncomplete
	}
	if a.ids != nil || a.sampled != nil {
		a.closeLast(status)
		return
	}
	a.closeItem(status)
}

// closeLast closes the last item, which has the ids. If there is none, an empty message has those of [TokenIDs].
func (a *responsesAnswer) closeLast(status string) {
	if a.ended {
		return
	}
	before, ids := a.index, a.ids.members()
	a.item.TokenIDs = ids
	a.item.SampledIDs = a.sampled.member(&a.env.Sealing, a.response.Model, a.env.Now)
	if a.closeItem(status); a.index == before && ids != nil {
		a.emptyMessage()
		a.item.TokenIDs = ids
		a.closeItem(status)
	}
}

// emptyMessage opens a message that stays empty.
func (a *responsesAnswer) emptyMessage() {
	a.item = openai.OutputItem{
		Kind: openai.OutputMessage, ID: "msg_" + a.env.ID + "_" + strconv.Itoa(a.index), Status: openai.StatusInProgress,
	}
	if !a.unphased {
		a.item.Phase = openai.PhaseFinalAnswer
	}
	a.itemOpen, a.late, a.closing = true, false, ""
	if a.stream {
		a.out = a.events.AppendItemOpened(a.out, a.index, &a.item)
	}
}

func (a *responsesAnswer) Finish(u Usage, now int64) {
	usage := u.visible(a.tally.Reasoning)
	a.response.Usage, a.response.CompletedAt = &usage, now
	switch a.finish {
	case Length:
		a.response.IncompleteReason = openai.ReasonMaxOutputTokens
		a.conclude("response.incomplete", openai.StatusIncomplete)
	case Repetition:
		a.response.IncompleteReason = openai.ReasonRepetition
		a.conclude("response.incomplete", openai.StatusIncomplete)
	case Filtered:
		a.response.IncompleteReason = openai.ReasonContentFilter
		a.conclude("response.incomplete", openai.StatusIncomplete)
	default:
		a.conclude("response.completed", openai.StatusCompleted)
	}
}

// conclude ends the answer with the response as it is now, either as an event or as the whole body.
func (a *responsesAnswer) conclude(event, status string) {
	if !a.end() {
		return
	}
	a.response.Status = status
	a.appendMessages()
	if a.stream {
		a.out = a.events.AppendResponse(a.out, event, &a.response)
	} else {
		a.out = a.response.AppendJSON(a.out)
	}
}

func (a *responsesAnswer) Fail(e *openai.Error) {
	if !a.stream {
		if a.end() {
			a.out = e.AppendJSON(a.out)
		}
		return
	}
	e = e.InStream()
	a.closeItem(openai.StatusIncomplete)
	if !a.ended {
		a.out = a.events.AppendError(a.out, e)
	}
	a.response.Error = e
	a.conclude("response.failed", openai.StatusFailed)
}

func (a *responsesAnswer) ContentType() string {
	if a.stream {
		return typeStream
	}
	return typeJSON
}
