package sim

import (
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// generation is a whole answer before it is sent: its exact ids, the text that each of them completes, and its end.
type generation struct {
	ids    []uint32
	texts  []string // as many as ids
	rest   string   // of the last character if its tokens are not complete, which vLLM's Python front end drops
	finish string   // stop, length, abort
	stop   any      // nil, a token id, or a stop string
}

// generate applies the limits of a request to what the model wants to write, which is says. A model that may not stop
// (ignore_eos, min_tokens) begins again.
func generate(t *tokenizer.Tokenizer, c *completion, generated []uint32, atEnd string) generation {
	stops := c.StopTokenIDs
	if !c.IgnoreEOS {
		stops = append(slices.Clone(stops), eos...)
	}
	if atEnd == "" {
		atEnd = "length"
	}
	g := generation{finish: atEnd}
	d := detokenizer{t: t, skipSpecial: c.SkipSpecial == nil || *c.SkipSpecial}
	held := stopBuffer{stops: c.Stop, include: c.IncludeStop, least: c.holdsLeast}
	maximum := c.tokenLimit()
	for i := 0; len(generated) > 0; i++ {
		if i == len(generated) {
			if !slices.Contains(eos, generated[i-1]) {
				break // a script without an end
			}
			i = 0
		}
		id := generated[i]
		g.ids = append(g.ids, id)
		n := len(g.ids)
		goesOn := c.callsGoOn && id == tokenizer.Call && i+1 < len(generated) && generated[i+1] == tokenizer.Start
		if n >= c.MinTokens && slices.Contains(stops, id) && !goesOn {
			g.finish = "stop"
			if id != tokenizer.Return || c.IgnoreEOS {
				g.stop = id
			}
			text := ""
			if c.IncludeStop {
				text = d.add(id)
			}
			g.texts = append(g.texts, held.add(text)+held.flush())
			return g
		}
		g.texts = append(g.texts, held.add(d.add(id)))
		if held.matched != "" && n > c.MinTokens {
			g.finish, g.stop = "stop", held.matched
			return g
		}
		if n == maximum {
			g.finish = "length"
			break
		}
	}
	if n := len(g.texts); n > 0 {
		g.texts[n-1] += held.flush()
	}
	g.rest = lossy(d.pending)
	return g
}

// stopBuffer looks for stop strings in the text. It holds back what may be the beginning of a stop string that clients
// do not get. It keeps only that part of the text, since an answer may be long.
//
// vLLM holds back as many characters as a stop string may lack of its end, whatever they are. Others hold back the
// least: text with which a stop string begins.
type stopBuffer struct {
	stops   []string
	include bool
	least   bool
	text    string // the end of the text so far
	sent    int    // bytes of it that have been sent
	matched string
}

func (b *stopBuffer) add(s string) string {
	if len(b.stops) == 0 {
		return s
	}
	from := len(b.text)
	b.text += s
	for _, stop := range b.stops {
		if stop == "" {
			continue
		}
		if at := strings.Index(b.text[max(0, from-len(stop)+1):], stop); at >= 0 && s != "" {
			b.matched = stop
			b.text = b.text[:max(0, from-len(stop)+1)+at]
			if b.include {
				b.text += stop
			}
			return b.flush()
		}
	}
	if b.least {
		out := b.cut(len(b.text) - b.begun())
		b.discardSent()
		return out
	}
	hold := 0
	if !b.include {
		for _, stop := range b.stops {
			hold = max(hold, len([]rune(stop))-1)
		}
	}
	end := len(b.text)
	for ; hold > 0 && end > b.sent; hold-- {
		end--
		for end > b.sent && b.text[end]&0xC0 == 0x80 {
			end--
		}
	}
	out := b.cut(end)
	b.discardSent()
	return out
}

// begun returns the size of the longest end of the text with which a stop string begins.
func (b *stopBuffer) begun() int {
	longest := 0
	for _, stop := range b.stops {
		for n := min(len(stop)-1, len(b.text)); n > longest; n-- {
			if strings.HasSuffix(b.text, stop[:n]) {
				longest = n
			}
		}
	}
	return longest
}

func (b *stopBuffer) flush() string { return b.cut(len(b.text)) }

// cut returns the unsent text before end. It is a copy: a part would keep the whole text in memory.
func (b *stopBuffer) cut(end int) string {
	if end <= b.sent {
		return ""
	}
	s := strings.Clone(b.text[b.sent:end])
	b.sent = end
	return s
}

// discardSent drops text that has been sent, as far as no stop string can begin in it.
func (b *stopBuffer) discardSent() {
	longest := 0
	for _, stop := range b.stops {
		longest = max(longest, len(stop))
	}
	start := min(b.sent, max(0, len(b.text)-longest))
	b.text, b.sent = strings.Clone(b.text[start:]), b.sent-start
}
