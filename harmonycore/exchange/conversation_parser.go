package exchange

import (
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// conversationParser is the [parser] of a choice of a server that takes conversations. The server may separate
// reasoning and calls from the text. An adapter finds the messages in the text. Numbers of tokens are estimates, unless
// they are counted.
type conversationParser struct {
	x       *Exchange
	sink    *conversationSink
	adapter structure.Adapter
	calls   callReader
	// logprobs reports whether the client gets them. Servers also send them for ids of tokens, or unasked.
	logprobs bool
	// received is the number of bytes received, and ids the number of ids of tokens. counted reports whether the server
	// names the ids of all tokens, so that nothing is estimated.
	received, ids int
	counted       bool
	// repeats ends an answer that repeats itself, if the ids of its tokens come. It may be nil.
	repeats *repetitions
}

func newConversationParser(g *generation, model *Model, r *translate.Request, answer translate.Choice) *conversationParser {
	counted := model.Kind.Facts().Renders
	p := &conversationParser{x: g.x, sink: &conversationSink{Choice: answer, counted: counted}, logprobs: r.Logprobs,
		counted: counted}
	create, ok := structure.Named(model.Speaks, g.x.gateway.options.Adapters)
	if !ok {
		create = structure.NewAuto
	}
	o := structureOptions(model)
	if contract.SpeaksCalls(model.Speaks) {
		o.Tools = r
		p.adapter = create(&formSink{conversationSink: p.sink, request: r}, o)
	} else {
		p.adapter = create(p.sink, o)
	}
	p.calls = callReader{sink: p.sink, request: r}
	if counted {
		p.repeats = newRepetitions(&model.Repetition, noTexts{})
	}
	return p
}

// bytesOf returns how much text the event holds, in bytes.
func bytesOf(e *backend.Event) int {
	n := len(e.Text) + len(e.Reasoning)
	for i := range e.Calls {
		n += len(e.Calls[i].Name) + len(e.Calls[i].Arguments)
	}
	return n
}

func (p *conversationParser) exceeds(event *backend.Event, tokens int) bool {
	estimated := (p.received + bytesOf(event) + maxTokenBytes - 1) / maxTokenBytes
	return !p.counted && estimated > tokens || p.ids+len(event.SampledIDs) > tokens
}

// prefill implements [parser]. Conversations end before the answer.
func (p *conversationParser) prefill(*generation) {}

func (p *conversationParser) take(g *generation, c *choice, event *backend.Event) *openai.Error {
	p.received += bytesOf(event)
	p.ids += len(event.SampledIDs)
	p.sink.arrived += len(event.SampledIDs)
	if p.logprobs {
		p.sink.logprobs.forget()
		p.sink.logprobs.keep(event)
	}
	if done, failure := p.takeText(g, c, fromReasoning, event.Reasoning); done || failure != nil {
		return failure
	}
	if done, failure := p.takeText(g, c, fromText, event.Text); done || failure != nil {
		return failure
	}
	for i := range event.Calls {
		if failure := p.calls.take(&event.Calls[i], p); failure != nil {
			return failure
		}
		if done, failure := p.bounded(g, c, 0); done || failure != nil {
			return failure
		}
	}
	if p.repeats != nil {
		p.endRepeated(g, c, event)
	}
	return nil
}

// noTexts are the texts of tokens that the gateway does not know. Then only copies of a pattern are a repetition.
type noTexts struct{}

func (noTexts) TokenBytes(uint32) ([]byte, bool) { return nil, false }

// endRepeated ends the choice if the model says the same again and again. The text of an event is not told apart by its
// tokens, so it ends with the event.
func (p *conversationParser) endRepeated(g *generation, c *choice, event *backend.Event) {
	due := false
	for _, id := range event.SampledIDs {
		due = p.repeats.Add(id) || due
	}
	watched := p.repeats.inText
	if c.answer.Reasoning() {
		watched = p.repeats.inReasoning
	}
	if !due || !p.sink.open || !p.repeats.Look() || !watched {
		return
	}
	p.conclude(false)
	c.finish = backend.Repeated
	c.answer.End(translate.Repetition)
	g.endEarly(c)
}

// takeText takes text or reasoning of an event. It reports whether the choice has ended early with it.
func (p *conversationParser) takeText(
	g *generation, c *choice, source messageSource, text []byte,
) (bool, *openai.Error) {
	if len(text) > 0 && p.calls.holds() {
		return false, p.calls.holdText(source, text)
	}
	for len(text) > 0 {
		n := pieceOf(text)
		if source == fromReasoning {
			p.reasoning(text[:n])
		} else {
			p.text(text[:n])
		}
		text = text[n:]
		if done, failure := p.bounded(g, c, len(text)); done || failure != nil {
			return done, failure
		}
	}
	return false, nil
}

// pieceOf returns how much of a text is passed on at once, in bytes. It does not end within a character: reasoning of a
// member of its own goes to the answer as it is.
func pieceOf(text []byte) int {
	if len(text) <= maxPiece {
		return len(text)
	}
	n := maxPiece
	for n > maxPiece-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// bounded checks the bounds of an answer. It reports whether the choice has ended early, with rest bytes of its event
// unread.
func (p *conversationParser) bounded(g *generation, c *choice, rest int) (done bool, failure *openai.Error) {
	if p.sink.opened > maxMessages {
		return false, errTooManyMessages()
	}
	if c.gate != nil && c.endedEarly() {
		g.endEarly(c)
		g.x.report.WastedTokens += harmony.EstimateTokens(rest)
		return true, nil
	}
	return false, nil
}

func (p *conversationParser) reasoning(text []byte) {
	if p.sink.source != fromReasoning {
		p.closeOpen()
		p.adapter.Break() // before all text it tells that the server separates reasoning
		p.sink.begin(fromReasoning, harmony.Header{Role: harmony.Assistant, Channel: harmony.Analysis})
	}
	p.sink.Content(text, 0)
}

func (p *conversationParser) text(text []byte) {
	if p.sink.source != fromText {
		p.closeOpen()
		p.sink.source = fromText
	}
	now := int64(0)
	if p.adapter.Timed() {
		now = p.x.now()
	}
	p.adapter.Write(text, now)
}

// closeOpen closes the open message, whatever it came from.
func (p *conversationParser) closeOpen() {
	switch p.sink.source {
	case fromText:
		p.adapter.Break()
	case fromCalls:
		p.calls.close(harmony.EndedByCall)
	case fromReasoning:
		p.sink.Close(harmony.EndedByEnd)
	case fromNothing:
	}
	p.sink.source = fromNothing
}

func (p *conversationParser) end(_ *generation, finish backend.Finish) *openai.Error {
	p.conclude(finish == backend.Stopped)
	if p.sink.opened > maxMessages {
		return errTooManyMessages()
	}
	return nil
}

func (p *conversationParser) finish() { p.conclude(false) }

// conclude closes the open message. whole reports whether the model has ended its answer by itself.
func (p *conversationParser) conclude(whole bool) {
	p.calls.flush(p, whole)
	end := harmony.Cut
	if whole {
		end = harmony.EndedByReturn
	}
	switch p.sink.source {
	case fromCalls:
		if whole {
			end = harmony.EndedByCall
		}
		p.calls.close(end)
	case fromReasoning:
		p.sink.Close(end)
	case fromText, fromNothing:
	}
	p.adapter.Finish(whole)
	p.sink.conclude(end)
	p.sink.source = fromNothing
}

func (p *conversationParser) generated() int {
	if p.counted {
		return p.ids
	}
	return max(p.ids, harmony.EstimateTokens(p.received))
}

func (p *conversationParser) recoveries() harmony.Recoveries { return p.adapter.Recoveries() }

func (p *conversationParser) refused() *harmony.ParseError { return nil }
