package server

import (
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/gptoss"
)

// Generation is a whole answer before it is sent: its exact ids, the text that each of them completes, and its end.
type Generation struct {
	IDs    []uint32
	Texts  []string // as many as ids
	Rest   string   // of the last character if its tokens are not complete, which vLLM's Python front end drops
	Finish string   // stop, length, abort
	Stop   any      // nil, a token id, or a stop string
}

// abort ends the answer after n tokens, as a server does that gives it up.
func (g *Generation) abort(n int) {
	n = min(n, len(g.IDs))
	g.IDs, g.Texts, g.Rest, g.Finish, g.Stop = g.IDs[:n], g.Texts[:n], "", "abort", nil
}

// generate applies the limits of a request to what the model wants to write, which is says. A model that may not stop
// (ignore_eos, min_tokens) begins again.
func generate(t *tokenizer.Tokenizer, c *Completion, generated []uint32, atEnd string) Generation {
	stops := c.StopTokenIDs
	if !c.IgnoreEOS {
		stops = append(slices.Clone(stops), gptoss.Ends...)
	}
	if atEnd == "" {
		atEnd = "length"
	}
	g := Generation{Finish: atEnd}
	d := gptoss.Detokenizer{Tokenizer: t, SkipSpecial: c.SkipSpecial == nil || *c.SkipSpecial}
	held := stopBuffer{stops: c.Stop, include: c.IncludeStop, least: c.HoldsLeast}
	maximum := c.TokenLimit()
	for i := 0; len(generated) > 0; i++ {
		if i == len(generated) {
			if !slices.Contains(gptoss.Ends, generated[i-1]) {
				break // a script without an end
			}
			i = 0
		}
		id := generated[i]
		g.IDs = append(g.IDs, id)
		n := len(g.IDs)
		goesOn := c.CallsGoOn && id == tokenizer.Call && i+1 < len(generated) && generated[i+1] == tokenizer.Start
		if n >= c.MinTokens && slices.Contains(stops, id) && !goesOn {
			g.Finish = "stop"
			if id != tokenizer.Return || c.IgnoreEOS {
				g.Stop = id
			}
			text := ""
			if c.IncludeStop {
				text = d.Add(id)
			}
			g.Texts = append(g.Texts, held.add(text)+held.flush())
			return g
		}
		g.Texts = append(g.Texts, held.add(d.Add(id)))
		if held.matched != "" && n > c.MinTokens {
			g.Finish, g.Stop = "stop", held.matched
			return g
		}
		if n == maximum {
			g.Finish = "length"
			break
		}
	}
	if n := len(g.Texts); n > 0 {
		g.Texts[n-1] += held.flush()
	}
	g.Rest = gptoss.Lossy(d.Pending)
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

// discardSent drops the part of the sent text in which no stop string can begin.
func (b *stopBuffer) discardSent() {
	longest := 0
	for _, stop := range b.stops {
		longest = max(longest, len(stop))
	}
	start := min(b.sent, max(0, len(b.text)-longest))
	b.text, b.sent = strings.Clone(b.text[start:]), b.sent-start
}
