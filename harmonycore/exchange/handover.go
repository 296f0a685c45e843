package exchange

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
	"github.com/harmonyedge/harmonyedge/internal/handover"
)

// handing is what the responses service needs to have another server finish an answer: it gets marks that say what the
// server has sampled. A request that finishes an answer has those of the earlier servers, and its own answer begins
// where they ended (RATIONALE.md#269).
type handing struct {
	// head is that of the answer's marks, or of the tail.
	head handover.Head
	// tail is what earlier servers have sampled, or empty. tokens is how many tokens that are.
	tail   []byte
	tokens int
	// marks write the marks. They are nil if there will be none, and refused is why.
	marks   *handover.Writer
	refused string
	// first is what comes before the first piece of the answer: the head, or an empty mark of an answer that goes on.
	first []byte
	// replays reports whether the tail is being read, closed whether nothing more is marked, and told whether the service
	// knows whether there are marks.
	replays, closed, told bool
	// looks counts the pieces of the server's answer. drained reports whether its server is drained, and nothing has said
	// so since.
	looks   int
	drained bool
	// left reports whether the filter itself has made another server go on: nothing more of this one counts.
	left bool
	// ended is how the answer has ended with the last token of the tail.
	ended backend.Finish
}

// The reasons why an answer cannot be handed over.
const (
	relayChoices  = "n"
	relayGrammar  = "grammar"
	relaySampling = "sampling"
	relayBudget   = "thinking_budget"
	relayText     = "text"
)

// takeOver reads what the responses service says of a request: that it wants marks, and what earlier servers have
// sampled. The ids and times of the answer are those of the first request. It returns the client's own body.
func (g *generation) takeOver(body []byte, h Host) ([]byte, Host) {
	rest, tail, ok := handover.Open(g.x.gateway.options.SealKeys, g.x.options.relay, body, h.Now/1000)
	if !ok {
		return body, h
	}
	g.handover = &handing{head: handover.Head{ID: h.ID, Now: h.Now}}
	if len(tail) > 0 {
		var r handover.Reader
		head, whole := r.Open(tail)
		if !whole {
			return body, h // it is as if nothing were signed: the body is no JSON
		}
		g.handover.tail, g.handover.head = tail, head
		h.ID, h.Now = head.ID, head.Now
	}
	return rest, h
}

// cannotHandOver returns why another server could not finish the answer, or an empty text.
func cannotHandOver(r *translate.Request, asked *backend.Request, kind *contract.Kind) string {
	switch {
	case kind.TextAnswers || kind.TextPrompts:
		return relayText
	case r.Choices > 1:
		return relayChoices
	case len(asked.StructuralTag) > 0:
		return relayGrammar // it would begin anew in the middle
	case asked.ThinkingBudget != nil:
		return relayBudget // the server counts the reasoning that it writes itself
	case !isNought(asked.Sampling.PresencePenalty), !isNought(asked.Sampling.FrequencyPenalty):
		return relaySampling // these look at the answer, and not at the prompt
	}
	for i := range asked.Sampling.Extras {
		if asked.Sampling.Extras[i].Name == "min_tokens" {
			return relaySampling
		}
	}
	return ""
}

// isNought reports whether a number is not sent, or 0 in its usual spellings.
func isNought(number string) bool {
	return number == "" || number == "0" || number == "0.0"
}

// handOver decides whether the answer to a request can be handed over, and lets the answer go on where earlier servers
// have left it.
func (g *generation) handOver(a *modelRequest, r *translate.Request, asked *backend.Request,
	scratch *Scratch) *openai.Error {
	t := g.handover
	if g.whole() {
		g.handover = nil // it has no place for marks
		return nil
	}
	t.refused = cannotHandOver(r, asked, g.kind.Facts())
	if len(t.tail) == 0 {
		t.head.PromptTokens, t.head.Logprobs = g.promptTokens, asked.Logprobs
		if t.refused == "" {
			t.marks = handover.NewWriter(&t.head)
			t.first = t.marks.AppendMark(nil)
		}
		return nil
	}
	if t.refused != "" || t.head.PromptTokens != g.promptTokens || t.head.Logprobs != asked.Logprobs {
		return errCannotGoOn()
	}
	if failure := g.replay(asked); failure != nil {
		return failure
	}
	scratch.prompt = asked.Prompt // it may have grown
	t.tail = nil                  // the host's memory
	asked.MaxTokens -= t.tokens
	t.marks = handover.NewWriter(nil)
	t.first = t.marks.AppendMark(nil)
	g.x.report.FirstToken = -1
	return nil
}

// replay reads what earlier servers have sampled. What the client gets of it is left out: it has that.
func (g *generation) replay(asked *backend.Request) *openai.Error {
	t, event, c := g.handover, &g.event, &g.choices[0]
	var from handover.Reader
	from.Open(t.tail)
	t.replays = true
	last := uint32(0)
	for id, more := from.Next(); more; id, more = from.Next() {
		event.Tokens = append(event.Tokens[:0], id)
		if t.head.Logprobs {
			takeLogprob(&from, event)
		}
		if c.finish != backend.Running || from.Broken() {
			return errCannotGoOn() // the answer had ended before
		}
		if failure := g.generate(c, event); failure != nil {
			return failure
		}
		asked.Prompt = append(asked.Prompt, id)
		g.outbox.Take(nil)
		t.tokens++
		last = id
	}
	t.replays = false
	event.Tokens, event.Logprobs = event.Tokens[:0], event.Logprobs[:0]
	switch {
	case from.Broken():
		return errCannotGoOn()
	case c.finish != backend.Running: // the gateway has ended it
		t.ended = c.finish
	case t.tokens > 0 && slices.Contains(asked.StopTokens, last):
		t.ended = backend.Stopped
	case t.tokens >= g.maxTokens: // nothing of it is left to write
		t.ended = backend.Length
	}
	return nil
}

// takeLogprob reads the logprob of a token.
func takeLogprob(from *handover.Reader, event *backend.Event) {
	var alternatives int
	l := backend.TokenLogprob{}
	l.Logprob, alternatives = from.Logprob()
	for range alternatives {
		var one backend.Alternative
		one.ID, one.Logprob = from.Alternative()
		l.Top = append(l.Top, one)
	}
	event.Logprobs = append(event.Logprobs[:0], l)
}

// over reports whether nothing is left to ask of a server. A nil t is no answer of an earlier server.
func (t *handing) over(g *generation) bool {
	return t != nil && t.ended != backend.Running && g.started
}

// answerAlone answers with what is left of an answer that an earlier server has ended.
func (g *generation) answerAlone() RequestAction {
	c := &g.choices[0]
	if c.finish == backend.Running {
		if failure := c.end(g, g.handover.ended); failure != nil {
			return g.x.refuse(failure)
		}
	}
	last := g.complete(true)
	if last.Reply != nil {
		return g.x.answer(last.Reply)
	}
	return g.x.answer(&Reply{Status: 200, ContentType: g.answer.ContentType(), Body: last.Body})
}

// note notes what a server has sampled. What the answer's end is made of is not marked: another server writes it again.
func (t *handing) note(event *backend.Event) {
	if t.marks == nil || t.replays || t.closed {
		return
	}
	if event.Finish.Regular() {
		t.closed = true
		return
	}
	for i, id := range event.Tokens {
		t.marks.Token(id)
		if !t.head.Logprobs || i >= len(event.Logprobs) {
			continue
		}
		l := &event.Logprobs[i]
		t.marks.Logprob(l.Logprob, len(l.Top))
		for k := range l.Top {
			t.marks.Alternative(l.Top[k].ID, l.Top[k].Logprob)
		}
	}
}

// mayLeave reports whether the filter can make another request go on with the answer.
func (t *handing) mayLeave() bool { return t != nil && t.marks != nil && !t.closed && !t.replays }

// leave makes another request go on, behind what is noted.
func (t *handing) leave() { t.left, t.drained = true, true }

// goesOn reports whether earlier servers have begun the answer.
func (t *handing) goesOn() bool { return t != nil && len(t.tail) > 0 }

// mark adds to a piece of the answer what it is made of. Before the first piece it says whether there are marks.
func (t *handing) mark(piece []byte, state outletState) []byte {
	if len(piece) == 0 && state != outletBegun {
		return piece // the headers wait for the answer
	}
	if !t.told {
		t.told = true
		first := t.first
		if t.refused != "" {
			first = handover.AppendRefused(nil, t.refused)
		}
		piece = append(first, piece...)
	}
	if t.marks != nil && !t.closed && t.marks.Pending() {
		piece = t.marks.AppendMark(piece)
		switch {
		case t.drained && t.left:
			piece, t.drained = handover.AppendFinal(piece), false
		case t.drained:
			piece, t.drained = handover.AppendDrained(piece), false
		}
	}
	return piece
}

// lookInterval is how many pieces of an answer come between two looks at its server's state. A look costs the host a
// microsecond or two.
const lookInterval = 16

// LooksAtServer reports whether the host is to say now whether the server of the answer is drained.
func (e *Exchange) LooksAtServer() bool {
	if e.generation == nil || e.generation.handover == nil {
		return false
	}
	t := e.generation.handover
	if t.marks == nil || t.closed {
		return false
	}
	t.looks++
	return t.looks%lookInterval == 1
}

// NoteDrained notes that the server of the answer is drained. The responses service then has another one go on.
func (e *Exchange) NoteDrained() {
	if e.generation != nil && e.generation.handover != nil {
		e.generation.handover.drained = true
	}
}

// ends counts what earlier servers have sampled, and marks nothing more: the rest of the answer is its end.
func (t *handing) ends(g *generation) {
	t.closed = true
	if t.tokens == 0 {
		return
	}
	if !g.endedEarly && g.usage.Completion > 0 {
		g.usage.Completion += t.tokens
	}
	// The last server's prompt was longer, and its reasoning shorter.
	g.usage.Cached, g.usage.HasReasoning = min(g.usage.Cached, g.promptTokens), false
}

// errCannotGoOn is for a request that is not the one whose answer is to be finished, as this gateway reads it. Only the
// responses service gets it.
func errCannotGoOn() *openai.Error {
	return &openai.Error{Status: 409, Type: contract.InvalidRequestError, Code: contract.CodeInvalidRequest,
		Message: "The answer cannot be continued: the gateway makes another prompt of the request now."}
}
