package exchange

import (
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
}

// newRepetitions returns what looks for repetitions in one choice, or nil if none ends an answer.
func newRepetitions(settings *contract.Repetition, texts repetition.Texts) *repetitions {
	r := repetitions{
		inReasoning: settings.Reasoning == contract.RepetitionEnd, inText: settings.Text == contract.RepetitionEnd,
	}
	if !r.inReasoning && !r.inText {
		return nil
	}
	r.Detector = repetition.New(repetition.Limits{
		MaxPatternSize: settings.MaxPatternSize, MinCount: settings.MinCount, MinTokens: settings.MinTokens,
	}, texts)
	return &r
}

// endRepeated looks for a repetition, and ends the choice if there is one that the operator looks for.
func (p *idParser) endRepeated(g *generation, c *choice) bool {
	if g.withheld || !p.stream.InContent() {
		return false // it is not yet known what the text is, or there is none
	}
	r := p.repeats
	watched := r.inText
	if c.answer.Reasoning() {
		watched = r.inReasoning
	}
	if !r.Look() || !watched {
		return false
	}
	c.sink().Close(harmony.Cut)
	c.finish = backend.Repeated
	c.answer.End(translate.Repetition)
	return true
}
