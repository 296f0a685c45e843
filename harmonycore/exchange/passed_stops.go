package exchange

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// passedStops ends the text of an answer that passes before the stop sequence that the server names as its end. vLLM
// with its Harmony parser shows the whole token in which the sequence ends, and so all of the sequence (RATIONALE.md#218).
// Events wait while their text may be the beginning of a sequence. Without sequences nothing waits and nothing changes.
type passedStops struct {
	sequences []string
	choices   []*passedStop
}

// passedStop is the text of one choice.
type passedStop struct {
	index int
	stops translate.Stops
	// held are the events whose text may be part of a sequence. certain is how many bytes of their text are not.
	held    []heldText
	certain int
	// found reports whether the text of the newest event completes a sequence, and ended whether the choice has stopped
	// there.
	found, ended bool
}

// heldText is the text of an event that waits: where the event begins in what is pending, and how many bytes the text
// has.
type heldText struct{ at, size int }

// note reads an event that begins at a place in what is pending.
func (s *passedStops) note(e *backend.Event, at int) {
	switch {
	case len(s.sequences) == 0, len(e.Text) == 0 && e.Finish == backend.Running:
		return
	case e.Index < 0, e.Index >= contract.MaxChoices: // nobody can have asked for it
		return
	}
	c := s.choice(e.Index)
	if len(e.Text) > 0 {
		c.add(e.Text, at)
	}
	switch {
	case e.Finish == backend.Running:
	case e.Finish == backend.Stopped && c.found:
		c.ended = true
	default:
		c.forget()
	}
}

func (s *passedStops) choice(index int) *passedStop {
	for _, c := range s.choices {
		if c.index == index {
			return c
		}
	}
	c := &passedStop{index: index, stops: translate.NewStops(s.sequences)}
	s.choices = append(s.choices, c)
	return c
}

func (c *passedStop) add(text []byte, at int) {
	if c.found {
		c.forget() // the server has not ended there
	}
	certain, found := c.stops.Add(text)
	c.certain += len(certain)
	c.found = found
	c.held = append(c.held, heldText{at, len(text)})
	shown := 0
	for shown < len(c.held) && c.certain >= c.held[shown].size {
		c.certain -= c.held[shown].size
		shown++
	}
	c.held = c.held[:copy(c.held, c.held[shown:])]
}

// forget lets all events of the choice go.
func (c *passedStop) forget() {
	c.stops.Flush()
	c.held, c.certain, c.found, c.ended = c.held[:0], 0, false, false
}

// certain returns how many of the first bytes of what is pending need not wait.
func (s *passedStops) certain(read int) int {
	for _, c := range s.choices {
		if len(c.held) > 0 {
			read = min(read, c.held[0].at)
		}
	}
	return read
}

// removed says that bytes are gone that lay before the events that begin after a place.
func (s *passedStops) removed(after, bytes int) {
	for _, c := range s.choices {
		for i := range c.held {
			if c.held[i].at > after {
				c.held[i].at -= bytes
			}
		}
	}
}

// names reports whether the newest event, which begins at a place, ends a choice at a sequence of the client's.
func (s *passedStops) names(event []byte, index int) bool {
	c, _ := chatserver.FindChoice(event, index)
	return slices.Contains(s.sequences, c.Stop)
}

// cutStops takes the sequences, and what follows them, out of the text of choices that have ended with the newest event.
func (p *passed) cutStops() {
	for _, c := range p.stops.choices {
		if !c.ended {
			continue
		}
		if p.stops.names(p.pending[p.eventAt:p.read], c.index) {
			for i := len(c.held) - 1; i >= 0; i-- {
				keep := 0
				if i == 0 {
					keep = c.certain
				}
				p.cutText(c.held[i].at, c.index, keep)
			}
		}
		c.forget()
	}
}

// cutWhole does the same in an answer in one piece.
func (p *passed) cutWhole() {
	for index := 0; len(p.stops.sequences) > 0; index++ {
		c, ok := chatserver.FindChoice(p.pending[:p.read], index)
		if !ok {
			return
		}
		if c.To == 0 || !slices.Contains(p.stops.sequences, c.Stop) {
			continue
		}
		stops := translate.NewStops(p.stops.sequences)
		if shown, found := stops.Add(c.Text(p.pending)); found {
			p.cutText(0, index, len(shown))
		}
	}
}

// cutText keeps so many bytes of the text of a choice in the object at a place in what is pending.
func (p *passed) cutText(at, index, keep int) {
	c, _ := chatserver.FindChoice(p.pending[at:p.read], index)
	from := chatserver.PrefixEnd(p.pending[at+c.From:at+c.To], keep)
	if from < 0 || c.To == 0 {
		return
	}
	from, to := at+c.From+from, at+c.To
	p.pending = append(p.pending[:from], p.pending[to:]...)
	p.read -= to - from
	p.stops.removed(at, to-from)
}
