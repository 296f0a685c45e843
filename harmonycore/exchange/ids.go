package exchange

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// idParser is the [parser] of a choice in token ids.
type idParser struct {
	stream *harmony.StreamParser
	// check finds what the reference would have refused.
	check *harmony.StrictCheck
	// logprobs is between stream and the answer if the client wants logprobs. Otherwise it is nil.
	logprobs *logprobs
	// ids collects the tokens and their logprobs if the client gets them. Otherwise it is nil.
	ids *translate.TokenIDs
	// held finds what does not have the form that the servers hold the answer to. It is nil if they hold it to none.
	held *translate.Held
	// sampled collects the tokens alone. Otherwise it is nil.
	sampled *translate.SampledIDs
	// trail keeps the newest tokens, for reasoning that is sealed. Otherwise it is nil.
	trail *translate.Trail
	// repeats finds repetitions. It is nil if none ends the answer.
	repeats *repetitions
	// received is the number of tokens received.
	received int
}

// keepSampled makes an answer in token ids keep them, for clients that send them back. prefilled is the part of it that
// the prompt ends with.
func keepSampled(model *Model, r *translate.Request, prefilled []uint32) {
	if !model.Kind.Facts().TextAnswers {
		r.KeepSampledIDs(prefilled)
		r.KeepTrail(prefilled)
	}
}

func newIDParser(t *tokenizer.Tokenizer, r *translate.Request, model *Model, answer translate.Choice) *idParser {
	p := &idParser{check: harmony.NewStrictCheck(t), ids: r.TokenIDs(), sampled: r.SampledIDs(), trail: r.Trail(),
		repeats: newRepetitions(&model.Repetition, t)}
	if p.held = r.Held(answer); p.held != nil {
		answer = p.held
	}
	if r.Logprobs {
		p.logprobs = &logprobs{Choice: answer, t: t, top: r.TopLogprobs, done: true}
		answer = p.logprobs
	}
	p.stream = harmony.NewStreamParser(t, answer)
	if p.held != nil {
		p.stream.Within(p.held)
	}
	if p.logprobs != nil {
		p.logprobs.parser = p.stream
	}
	return p
}

func (p *idParser) exceeds(event *backend.Event, tokens int) bool {
	return p.received+len(event.Tokens) > tokens
}

func (p *idParser) prefill(g *generation) {
	for _, id := range g.prefilled {
		p.stream.Process(id)
		p.check.Process(id)
		g.withheld = g.withheld && id != tokenizer.Message
	}
}

func (p *idParser) take(g *generation, c *choice, event *backend.Event) *openai.Error {
	if (p.logprobs != nil || p.ids != nil) && len(event.Logprobs) != len(event.Tokens) {
		return g.noLogprobs()
	}
	for at, id := range event.Tokens {
		p.received++
		if p.ids != nil {
			p.ids.Add(id)
			p.ids.AddLogprob(event.Logprobs[at].Logprob)
		}
		if p.sampled != nil {
			p.sampled.Add(id)
		}
		if p.trail != nil {
			p.trail.Add(id)
		}
		if len(g.hiddenStops) > 0 && slices.Contains(g.hiddenStops, id) {
			continue
		}
		// In strict mode, what the reference refuses is not delivered.
		if p.check.Process(id); g.strict && p.check.Err() != nil {
			return errHarmony(p.check.Err())
		}
		if p.process(event, at); p.stream.Opened() > maxMessages {
			return errTooManyMessages()
		}
		if p.held != nil && p.held.Broken() {
			return errBrokenForm()
		}
		g.withheld = g.withheld && id != tokenizer.Message
		// Withheld text is not yet an answer that could end.
		if c.gate != nil && !g.withheld && c.endedEarly() {
			g.endEarly(c)
			g.x.report.WastedTokens += len(event.Tokens) - at - 1
			return nil
		}
		if p.repeats != nil && p.repeats.Add(id) && p.repeated(g, c, event, at) {
			return nil
		}
	}
	return nil
}

// process passes the token at this index of an event to the parser.
func (p *idParser) process(event *backend.Event, at int) {
	id := event.Tokens[at]
	if p.logprobs == nil {
		p.stream.Process(id)
		return
	}
	p.logprobs.next(id, &event.Logprobs[at])
	p.stream.Process(id)
	p.logprobs.keep()
}

func (p *idParser) end(g *generation, finish backend.Finish) *openai.Error {
	if p.check.Finish(); g.strict && p.check.Err() != nil {
		return errHarmony(p.check.Err())
	}
	p.stream.Finish()
	// A limit, or a stop token of the client's, may cut the answer anywhere.
	if p.held != nil && finish == backend.Stopped && len(g.hiddenStops) == 0 && p.held.Lacks() {
		return errBrokenForm()
	}
	return nil
}

func (p *idParser) finish() { p.stream.Finish() }

func (p *idParser) generated() int { return p.received }

func (p *idParser) recoveries() harmony.Recoveries {
	r := p.stream.Recoveries()
	if p.held != nil {
		r[harmony.StrayControl] += p.held.SpelledEnds()
	}
	return r
}

func (p *idParser) refused() *harmony.ParseError { return p.check.Err() }
