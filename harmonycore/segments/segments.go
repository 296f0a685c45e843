package segments

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/affinity"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Kind is what a part of a prompt is.
type Kind uint8

// The kinds. The first six are parts of a system or a developer message. The others are whole messages.
const (
	// System is the system message without its other parts: the model's identity and the channels.
	System Kind = iota + 1
	Date
	Effort
	// Tools are the declarations of tools, in either message.
	Tools
	// Instructions is the developer message without its other parts.
	Instructions
	// Format is the format of the answer that the client asked for.
	Format
	User
	// Reasoning is a message on the channel analysis. Answer is final, and Preamble is commentary for the user.
	Reasoning
	Answer
	Preamble
	// Call is the assistant's call of a tool, and Result what the tool answered.
	Call
	Result
	// Opening is the header that the model continues.
	Opening
	// Rest is what is not in messages, and what comes after [Limits.Segments].
	Rest
)

var kindNames = [...]string{
	System: "system", Date: "date", Effort: "effort", Tools: "tools", Instructions: "instructions", Format: "format",
	User: "user", Reasoning: "reasoning", Answer: "answer", Preamble: "preamble", Call: "call", Result: "result",
	Opening: "opening", Rest: "rest",
}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return ""
}

// head reports whether the kind is a part of a message that has one such part.
func (k Kind) head() bool { return k >= System && k <= Format }

// assistant reports whether the kind is a message of the assistant.
func (k Kind) assistant() bool { return k >= Reasoning && k <= Call }

// Segment is a part of a prompt.
type Segment struct {
	Kind Kind
	// Message is the index of the message that it belongs to.
	Message int32
	// Size is how many tokens it has.
	Size int32
	// Hash is of its tokens. Text is of the same without the white space and the control tokens at its end, for parts of
	// system and developer messages: with another part behind it, a part ends with other tokens.
	Hash, Text affinity.Hash
}

// BlockSize is how many tokens the blocks of an [Outline] have: as many as vLLM's.
const BlockSize = 16

// Limits bounds an [Outline]. What is beyond is in its last segment, and in no block.
type Limits struct{ Segments, Blocks int }

// Outline is what is kept of a prompt: the kinds, sizes and hashes of its parts, and no text.
type Outline struct {
	// Model is the hash of the empty prompt of the model.
	Model affinity.Hash
	// Tokens is how many tokens the prompt has.
	Tokens   int
	Segments []Segment
	// Blocks are the hashes of the prompt up to the end of each block.
	Blocks []affinity.Hash
	// rest is the hash of the prompt up to its end, made of the last block's.
	rest affinity.Hash
}

// Read makes o the outline of a prompt of a model. It reuses the memory of o.
func (o *Outline) Read(t *tokenizer.Tokenizer, model string, ids []uint32, limits Limits) {
	o.Model, o.Tokens, o.Segments = affinity.Seed(model), len(ids), o.Segments[:0]
	o.Blocks = affinity.AppendBlocks(o.Blocks[:0], o.Model, ids, BlockSize, limits.Blocks)
	o.rest = o.hashOfRest(ids)
	d := divider{o: o, t: t, ids: ids, limit: max(limits.Segments, 1)}
	for at := 0; at < len(ids); {
		end := at + 1
		for end < len(ids) && ids[end] != tokenizer.Start {
			end++
		}
		d.message(at, end)
		at = end
	}
	d.close(len(ids))
}

// hashOfRest returns the hash of a prompt that begins with all blocks of o, up to the end of o.
func (o *Outline) hashOfRest(ids []uint32) affinity.Hash {
	last, whole := o.Model, len(o.Blocks)*BlockSize
	if len(o.Blocks) > 0 {
		last = o.Blocks[len(o.Blocks)-1]
	}
	return affinity.AppendIDs(last, ids[min(whole, len(ids)):min(o.Tokens, len(ids))])
}

// Bytes returns how much memory the outline takes.
func (o *Outline) Bytes() int { return cap(o.Segments)*segmentSize + cap(o.Blocks)*8 + outlineSize }

const (
	segmentSize = 32
	outlineSize = 96
)

// divider divides a prompt. A segment is open until the next one begins.
type divider struct {
	o     *Outline
	t     *tokenizer.Tokenizer
	ids   []uint32
	limit int
	// from is where the open segment begins, and kind what it is. It has no kind before the first message.
	from int
	kind Kind
	// of is the message of the open segment, and number the index of the message that is read.
	of, number int32
}

// begin begins a segment at a token. The last segment that there may be gets all that follows.
func (d *divider) begin(at int, kind Kind) {
	if d.kind != 0 && len(d.o.Segments)+1 >= d.limit {
		d.kind = Rest
		return
	}
	d.close(at)
	d.from, d.kind, d.of = at, kind, d.number
}

// close ends the open segment before a token.
func (d *divider) close(at int) {
	if d.kind == 0 || at <= d.from {
		return
	}
	s := Segment{Kind: d.kind, Message: d.of, Size: int32(at - d.from), Hash: affinity.AppendIDs(0, d.ids[d.from:at])}
	if d.kind.head() {
		s.Text = d.text(d.ids[d.from:at])
	}
	d.o.Segments = append(d.o.Segments, s)
}

// text returns the hash of tokens without the white space and the control tokens at their end.
func (d *divider) text(ids []uint32) affinity.Hash {
	for n := len(ids); n > 0; n-- {
		last, _ := d.t.TokenBytes(ids[n-1])
		if last = bytes.TrimRight(last, " \r\n\t"); len(last) > 0 && !tokenizer.IsSpecial(ids[n-1]) {
			return affinity.AppendText(affinity.AppendIDs(0, ids[:n-1]), last)
		}
	}
	return 0
}

// The first tokens of the roles and channels that a kind follows from, and of a recipient's mark
// (docs/harmony-format.md#tokens).
const (
	systemID     = 17360
	developerID  = 77944
	userID       = 1428
	assistantID  = 173781
	analysisID   = 35644
	finalID      = 17196
	recipientID  = 316
	headerTokens = 64
)

// message divides the message of these tokens, which begins with <|start|>, unless it is the prompt's first.
func (d *divider) message(from, to int) {
	kind, content := d.kindOf(from, to)
	d.begin(from, kind)
	switch kind {
	case System:
		d.sections(content, to, (*divider).systemLine)
	case Instructions:
		s := developer{}
		d.sections(content, to, s.line)
		s.end(d)
	}
	d.number++
}

// kindOf returns the kind of a message, and where its content begins.
func (d *divider) kindOf(from, to int) (Kind, int) {
	ids := d.ids[from:to]
	if len(ids) < 2 || ids[0] != tokenizer.Start {
		return Rest, to
	}
	recipient, channel := false, uint32(0)
	for i := 2; i < len(ids); i++ {
		switch ids[i] {
		case tokenizer.Message:
			return kindOf(ids[1], channel, recipient), from + i + 1
		case tokenizer.Channel:
			if i+1 < len(ids) {
				channel = ids[i+1]
			}
		case recipientID:
			recipient = recipient || i < headerTokens
		}
	}
	if ids[1] == assistantID {
		return Opening, to
	}
	return Rest, to
}

func kindOf(role, channel uint32, recipient bool) Kind {
	switch role {
	case systemID:
		return System
	case developerID:
		return Instructions
	case userID:
		return User
	case assistantID:
	default:
		return Result
	}
	switch {
	case recipient:
		return Call
	case channel == analysisID:
		return Reasoning
	case channel == finalID:
		return Answer
	}
	return Preamble
}

// lineStart is how much of a line decides what it is.
const lineStart = 24

// sections calls line with the beginning of each line of a message's content, and the token that the line begins in.
// The tokens are not decoded further than that.
func (d *divider) sections(from, to int, line func(d *divider, at int, text []byte)) {
	var buffer [lineStart]byte
	n, begun := 0, from
	for i := from; i < to && !tokenizer.IsSpecial(d.ids[i]); i++ {
		text, _ := d.t.TokenBytes(d.ids[i])
		for len(text) > 0 {
			end := bytes.IndexByte(text, '\n')
			whole := text
			if end >= 0 {
				whole = text[:end]
			}
			if n == 0 {
				begun = i
			}
			n += copy(buffer[n:], whole)
			if end < 0 {
				break
			}
			line(d, begun, buffer[:n])
			n, text = 0, text[end+1:]
		}
	}
	if n > 0 {
		line(d, begun, buffer[:n])
	}
}

// systemLine begins the sections of a system message.
func (d *divider) systemLine(at int, text []byte) {
	kind := d.kind
	switch {
	case len(text) == 0:
	case hasPrefix(text, "Current date: "):
		kind = Date
	case hasPrefix(text, "Reasoning: "):
		kind = Effort
	case string(text) == "# Tools" || hasPrefix(text, "Calls to these tools"):
		kind = Tools
	case hasPrefix(text, "# Valid channels") || kind == Date || kind == Effort:
		kind = System
	}
	if kind != d.kind {
		d.begin(at, kind)
	}
}

func hasPrefix(text []byte, prefix string) bool {
	return len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix
}
