package exchange

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/repetition"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// repetitions end an answer whose model says the same again and again (RATIONALE.md#273).
type repetitions struct {
	*repetition.Detector
	inReasoning, inText bool
	// final reports whether the model is asked for its answer when its reasoning repeats itself, and not yet was.
	final bool
}

// newRepetitions returns what looks for repetitions in one choice, or nil if none ends an answer.
func newRepetitions(settings *contract.Repetition, texts repetition.Texts) *repetitions {
	r := repetitions{inText: settings.Text == contract.RepetitionEnd, final: settings.Reasoning == contract.RepetitionFinal}
	r.inReasoning = r.final || settings.Reasoning == contract.RepetitionEnd
	if !r.inReasoning && !r.inText {
		return nil
	}
	r.Detector = repetition.New(repetition.Limits{
		MaxPatternSize: settings.MaxPatternSize, MinCount: settings.MinCount, MinTokens: settings.MinTokens,
	}, texts)
	return &r
}

// repeated looks for a repetition behind the token at this index of an event, and reports whether that was the last
// token that counts: because the choice ends there, or because another request goes on.
func (p *idParser) repeated(g *generation, c *choice, event *backend.Event, at int) bool {
	if g.withheld || !p.stream.InContent() {
		return false // it is not yet known what the text is, or there is none
	}
	watched, reasoning := p.repeats.inText, c.answer.Reasoning()
	if reasoning {
		watched = p.repeats.inReasoning
	}
	if !p.repeats.Look() || !watched {
		return false
	}
	if reasoning && p.repeats.final && p.logprobs == nil && p.ids == nil {
		if p.repeats.final = false; g.handover.mayLeave() {
			g.x.report.WastedTokens += len(event.Tokens) - at - 1
			p.askForFinal(g, event, at)
			return true
		}
		if g.handover != nil && g.handover.replays {
			return false // the model was asked then: the next tokens say so
		}
	}
	g.x.report.WastedTokens += len(event.Tokens) - at - 1
	c.sink().Close(harmony.Cut)
	c.finish = backend.Repeated
	c.answer.End(translate.Repetition)
	g.endEarly(c)
	return true
}

// askForFinal closes the reasoning and begins the answer in the model's place. What the event has behind at is left
// out. Another request goes on from there.
func (p *idParser) askForFinal(g *generation, event *backend.Event, at int) {
	begin := g.x.gateway.options.Tokenizer.AppendEncodeSpecial(nil, "<|end|><|start|>assistant<|channel|>final<|message|>")
	event.Tokens, event.Finish = slices.Concat(event.Tokens[:at+1], begin), backend.Running
	for _, id := range begin {
		p.received++
		if p.sampled != nil {
			p.sampled.Add(id)
		}
		if p.trail != nil {
			p.trail.Add(id)
		}
		p.check.Process(id)
		p.stream.Process(id)
	}
	g.handover.leave()
	g.x.report.EarlyEnd, g.x.report.Repeated = EarlyRepetition, true
}
