package structure

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// strippedBeginnings begin an answer in Harmony that lost its control tokens. No prose begins so.
var strippedBeginnings = [...]string{
	"assistantanalysis", "assistantcommentary", "assistantfinal", "assistant to=functions.",
	"commentary to=functions.", "to=functions.",
}

// auto is the [Adapter] of text that is either Harmony or an answer with think tags. The beginning decides: a control
// token that begins a header, one of [strippedBeginnings], or the word analysis glued to a capital letter.
type auto struct {
	sink    harmony.Sink
	options Options
	// chosen is nil until the text's beginning has decided.
	chosen Adapter
	// held is the text so far. broken reports whether a message beside the text came before it.
	held   []byte
	broken bool
}

// NewAuto returns an [Adapter] for a model of which it is not known whether it speaks [contract.SpeaksHarmony] or
// [contract.SpeaksChat].
func NewAuto(sink harmony.Sink, o Options) Adapter { return &auto{sink: sink, options: o} }

// Timed implements [Adapter].
func (a *auto) Timed() bool { return a.chosen != nil && a.chosen.Timed() }

// Write implements [Adapter].
func (a *auto) Write(b []byte, now int64) {
	for i := 0; a.chosen == nil && i < len(b); i++ {
		a.held = append(a.held, b[i])
		if v := beginsHarmony(a.held); v != undecided {
			a.held = append(a.held, b[i+1:]...) // one piece remains one
			a.choose(v == marked)
			return
		}
	}
	if a.chosen != nil && len(b) > 0 {
		a.chosen.Write(b, now)
	}
}

// choose chooses the adapter and passes on what is held.
func (a *auto) choose(isHarmony bool) {
	if isHarmony {
		// It is Harmony, so it needs no fallback.
		a.chosen = NewHarmony(a.sink, Options{})
	} else {
		a.chosen = NewChat(a.sink, a.options)
		if a.broken {
			a.chosen.Break()
		}
	}
	held := a.held
	a.held = nil
	if isHarmony {
		held = held[leadingSpace(held):]
	}
	a.chosen.Write(held, 0)
}

// Beginning is what the beginning of a text shows of its structure, as [NewAuto] reads it.
type Beginning uint8

// The values of [Beginning].
const (
	// Undecided means that more of the text must come.
	Undecided Beginning = iota
	// Plain means that the text is not Harmony.
	Plain
	// Harmonic means that the text is Harmony.
	Harmonic
)

// BeginningOf returns what the beginning of a text shows.
func BeginningOf(text []byte) Beginning {
	for n := 1; n <= len(text); n++ {
		switch beginsHarmony(text[:n]) {
		case marked:
			return Harmonic
		case unmarked:
			return Plain
		}
	}
	return Undecided
}

// beginsHarmony reports whether a text begins as Harmony does.
func beginsHarmony(b []byte) verdict {
	space := leadingSpace(b)
	if b = b[space:]; len(b) == 0 {
		if space > maxLeadingSpace {
			return unmarked
		}
		return undecided
	}
	if b[0] == '<' {
		id, size, partial := tokenizer.MatchSpecial(b)
		switch {
		case size > 0 && (id == tokenizer.Start || id == tokenizer.Channel || id == tokenizer.Message):
			return marked
		case size == 0 && partial:
			return undecided
		}
		return unmarked
	}
	for _, word := range strippedBeginnings {
		if n := min(len(word), len(b)); word[:n] == string(b[:n]) {
			if n == len(word) {
				return marked
			}
			return undecided
		}
	}
	n := min(len(harmony.Analysis), len(b))
	switch {
	case !strings.HasPrefix(harmony.Analysis, string(b[:n])):
		return unmarked
	case len(b) == n:
		return undecided
	case b[n] >= 'A' && b[n] <= 'Z':
		return marked
	}
	return unmarked
}

// Break implements [Adapter].
func (a *auto) Break() {
	if a.chosen == nil {
		if len(a.held) == 0 {
			a.broken = true
			return
		}
		a.choose(false)
	}
	a.chosen.Break()
}

// Finish implements [Adapter].
func (a *auto) Finish(whole bool) {
	if a.chosen == nil {
		a.choose(false)
	}
	a.chosen.Finish(whole)
}

// Recoveries implements [Adapter].
func (a *auto) Recoveries() harmony.Recoveries {
	if a.chosen == nil {
		return harmony.Recoveries{}
	}
	return a.chosen.Recoveries()
}
