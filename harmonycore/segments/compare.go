package segments

import "github.com/harmonyedge/harmonyedge/harmonycore/affinity"

// Reason says why a server cannot use all that it has of an earlier prompt.
type Reason uint8

// The reasons. The first ones are kinds of segments: such a part has changed, or is new or gone.
const (
	// Nothing means that the prompt begins with all of the earlier one, or the earlier one with all of it.
	Nothing Reason = 0
	// ReasoningDropped means that reasoning of the past is left out.
	ReasoningDropped Reason = Reason(Rest) + iota
	// Removed means that messages of the past are left out, and Inserted that there are new ones before known ones.
	Removed
	Inserted
	// Model means that the prompts are of two models.
	Model
	// AnotherServer means that another server got the request than the earlier one, and Evicted that the same server has
	// not kept what it had.
	AnotherServer
	Evicted
	// Unknown means that the server has not kept what it or another one had, and that the earlier prompt is not known.
	Unknown
	reasons
)

// Reasons is how many reasons there are.
const Reasons = int(reasons)

var reasonNames = [...]string{Nothing: "none", ReasoningDropped: "reasoning_dropped", Removed: "messages_removed",
	Inserted: "messages_inserted", Model: "model", AnotherServer: "another_server", Evicted: "evicted",
	Unknown: "unknown"}

// String returns the reason's name.
func (r Reason) String() string {
	if r != Nothing && r <= Reason(Rest) {
		return Kind(r).String()
	}
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return ""
}

// Difference is how a prompt differs from an earlier one.
type Difference struct {
	Reason Reason
	// Message is the index of the message in the new prompt, and Was in the earlier one. They are of the first
	// difference.
	Message, Was int
	// Common is how many tokens are the same from the beginning, and Cached how many of them a server reads from its
	// cache that has the earlier prompt.
	Common, Cached int
	// Computed is how many tokens of the new prompt a server computes. Again is how many of them the earlier prompt had,
	// too: these are computed again because of the difference, and because a cache has whole blocks.
	Computed, Again int
}

// Cache is how a server keeps prompts. It has computed all of the earlier one.
type Cache struct {
	// Block is how many tokens a block has.
	Block int
	// End is where the earlier prompt ended, before what the model wrote, for a server that can go on from there only: of
	// layers with a sliding window it keeps the end. 0 means that it can go on from any block.
	End int
}

// read returns how many of so many tokens at the beginning a server reads.
func (c Cache) read(tokens int) int {
	block := max(c.Block, 1)
	n := tokens / block * block
	if c.End == 0 {
		return n
	}
	if end := (c.End - 1) / block * block; end <= n {
		return end
	}
	return 0
}

// Compare compares a prompt with an earlier one. common is how many tokens are the same from the beginning.
func Compare(before, now *Outline, common int, c Cache) Difference {
	d := Difference{Common: min(common, before.Tokens, now.Tokens)}
	d.Cached = c.read(max(min(d.Common, now.Tokens-1), 0)) // a server computes the last token in any case
	i, start := 0, 0
	for i < len(before.Segments) && i < len(now.Segments) && before.Segments[i] == now.Segments[i] &&
		start+int(now.Segments[i].Size) <= d.Common {
		start += int(now.Segments[i].Size)
		i++
	}
	switch {
	case before.Model != now.Model:
		d.Reason, d.Cached = Model, 0
	case d.Common < before.Tokens && d.Common < now.Tokens:
		d.Reason = reason(before.Segments[i:], now.Segments[i:])
	}
	d.Message, d.Was = messageAt(now.Segments, i), messageAt(before.Segments, i)
	d.Computed = now.Tokens - d.Cached
	d.Again = d.Common - d.Cached + again(before.Segments[i:], now.Segments[i:], d.Common-start)
	return d
}

func messageAt(s []Segment, i int) int {
	switch {
	case i < len(s):
		return int(s[i].Message)
	case len(s) > 0:
		return int(s[len(s)-1].Message) + 1
	}
	return 0
}

// lookAhead is how many segments are searched for one that is known.
const lookAhead = 4096

// find returns where a segment is among others, or -1.
func find(s []Segment, what *Segment) int {
	for i := range min(len(s), lookAhead) {
		if s[i].Kind == what.Kind && s[i].Hash == what.Hash && s[i].Size == what.Size {
			return i
		}
	}
	return -1
}

// reason names the first difference of two prompts. Their first segments differ.
func reason(before, now []Segment) Reason {
	// A part of a message may differ only by how its end is joined with what follows it.
	for len(before) > 1 && len(now) > 1 && before[0].Kind == now[0].Kind && before[0].Text == now[0].Text &&
		before[0].Kind.head() {
		before, now = before[1:], now[1:]
	}
	if len(before) == 0 || len(now) == 0 {
		return Nothing
	}
	a, b := &before[0], &now[0]
	gone, added := find(now, a) < 0, find(before, b) < 0
	switch {
	case a.Kind == Opening:
		return Nothing // the answer to the earlier prompt is not in this one
	case b.Kind == Opening && a.Kind.assistant():
		return Nothing // the model is asked anew for what follows
	case a.Kind.head() || b.Kind.head():
		return Reason(firstHead(a, b))
	case a.Kind == Reasoning && (!added || gone && b.Kind != Reasoning) && dropped(before, now):
		return ReasoningDropped
	case !added && (gone || a.Kind != b.Kind || find(before, b) <= find(now, a)):
		return Removed
	case !gone:
		return Inserted
	case a.Kind == b.Kind && !replaced(before, now):
		return Reason(a.Kind)
	}
	return Removed
}

// firstHead returns which part of a system or a developer message the two segments are about. If they are of different
// kinds, one prompt lacks the part that comes first.
func firstHead(a, b *Segment) Kind {
	switch {
	case !b.Kind.head(), a.Kind == b.Kind:
		return a.Kind
	case !a.Kind.head():
		return b.Kind
	case a.Message != b.Message:
		if a.Message < b.Message {
			return a.Kind
		}
		return b.Kind
	case a.Kind == System:
		return b.Kind
	case b.Kind == System:
		return a.Kind
	}
	return min(a.Kind, b.Kind)
}

// dropped reports whether the first of these segments is reasoning that is left out, and what follows it is not.
func dropped(before, now []Segment) bool {
	for i := range before {
		if s := &before[i]; s.Kind != Reasoning {
			return i > 0 && (s.Kind == now[0].Kind || find(now, s) >= 0)
		}
	}
	return len(before) > 0
}

// fewSegments is how many segments are looked for before a prompt is taken for a new one.
const fewSegments = 64

// replaced reports whether nothing of these segments is left among fewer ones.
func replaced(before, now []Segment) bool {
	if len(now) >= len(before) {
		return false
	}
	for i := range min(len(now), fewSegments) {
		if now[i].Kind != Opening && find(before, &now[i]) >= 0 {
			return false
		}
	}
	return true
}

// again returns how many tokens after the first difference the earlier prompt had. same is how many tokens the first
// segments have in common, which are not counted.
func again(before, now []Segment, same int) (n int) {
	known := make(map[affinity.Hash]int, min(len(before), len(now)))
	for i := range before {
		if before[i].Kind != Opening {
			known[before[i].Hash]++
		}
	}
	for i := range now {
		s := &now[i]
		switch {
		case known[s.Hash] > 0:
			known[s.Hash]--
			n += int(s.Size)
			if i == 0 {
				n -= same
			}
		case i == 0 && len(before) > 0 && before[0].Kind == s.Kind:
			n += max(int(min(s.Size, before[0].Size))-same, 0)
		}
	}
	return n
}

// CommonWith returns how many tokens o has in common with the beginning of a later prompt, of which p is the outline:
// exactly if the later prompt begins with all of o, or if the first difference is where a segment begins. Otherwise it
// is up to the last whole block before the difference.
func (o *Outline) CommonWith(p *Outline, ids []uint32) (n int) {
	blocks := o.blocksWith(p)
	if blocks == len(o.Blocks) && o.Model == p.Model && o.Tokens <= len(ids) && o.hashOfRest(ids) == o.rest {
		return o.Tokens
	}
	for i := 0; i < len(o.Segments) && i < len(p.Segments) && o.Segments[i] == p.Segments[i]; i++ {
		n += int(o.Segments[i].Size)
	}
	return max(n, blocks*BlockSize)
}

// blocksWith returns how many blocks two outlines have in common.
func (o *Outline) blocksWith(p *Outline) int {
	blocks, beyond := 0, min(len(o.Blocks), len(p.Blocks))+1
	for blocks+1 < beyond { // each hash stands for all blocks before it, too
		if half := (blocks + beyond) / 2; o.Blocks[half-1] == p.Blocks[half-1] {
			blocks = half
		} else {
			beyond = half
		}
	}
	return blocks
}

// Common returns how many tokens two prompts have in common from the beginning.
func Common(a, b []uint32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
