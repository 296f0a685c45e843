package harmony

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Dialect is how a server writes messages as text.
type Dialect uint8

const (
	// Printed is Harmony with its control tokens printed: servers asked for skip_special_tokens=false.
	Printed Dialect = iota
	// Stripped is Harmony that lost its control tokens, "analysis…assistantfinal…", and is ambiguous by nature. It is
	// taken for that when it begins so, and for [Printed] otherwise.
	Stripped
	// Split is reasoning, [FinalMark], answer: models that were told in the prompt to write so.
	Split
)

// FinalMark ends the reasoning of the dialect [Split]. Only the first one counts.
const FinalMark = "===FINAL==="

// TextOptions say what text to expect. The zero value is [Printed] without a fallback.
type TextOptions struct {
	Dialect Dialect
	// Fallback is for [Printed], and for [Stripped] that does not begin so.
	Fallback Fallback
}

// TextParser turns text into messages as [StreamParser] does token ids, by the same machine, for servers that return
// none. It cannot tell a control token from text that spells one: every spelling is a control token, the reserved ones
// too. No event holds one, and all other bytes of content are in exactly one event.
//
// However the text is cut, the messages are the same. The beginning of a control token, or of another mark, is held
// back until it is one or cannot be, and a rune until it is whole; longer only headers are ([MaxHeaderTokens]) and what
// the fallback has not decided yet ([MaxUndecided]). The tokens that the [Sink] hears of are estimated, four bytes each
// over the whole stream.
type TextParser struct {
	machine
	mode textMode
	// otherwise is the mode if the text is not stripped.
	otherwise textMode
	// tail are the n bytes held back, again the same while they are read once more.
	tail, again [longestMark]byte
	n           int
	head        strippedHeader
	watch       watch
}

type textMode uint8

const (
	// printed knows control tokens only.
	printed textMode = iota
	// undecided holds text until the fallback is decided; it and splitting know [FinalMark] too.
	undecided
	splitting
	// stripped is inside the content of a stripped stream, the modes from opening on inside its headers.
	stripped
	opening
	afterChannel
	inName
	afterName
)

// Marks other than control tokens. No control token has such an id.
const (
	finalMark uint32 = iota
	boundaryMark
)

// longestMark is the longest of the control tokens, [FinalMark] and strippedBoundaries.
const longestMark = max(tokenizer.LongestSpecial, len(FinalMark), len("assistant"+Commentary))

// NewTextParser makes a parser that stands as behind "<|start|>assistant", where a completion begins.
func NewTextParser(sink Sink, options TextOptions) *TextParser {
	p := &TextParser{machine: machine{sink: sink}}
	p.machine.head.bytewise = true
	p.beginHeader(false)
	p.head.reset()
	if options.Dialect == Split {
		p.mode = splitting
		return p
	}
	p.watch.init(options.Fallback)
	if options.Fallback.To == FallBackToSplit {
		p.otherwise = undecided
	}
	p.mode = p.otherwise
	if options.Dialect == Stripped {
		p.mode = opening
	}
	return p
}

// NewTextTranscriptParser is [NewTranscriptParser] for printed text.
func NewTextTranscriptParser(sink Sink) *TextParser {
	p := NewTextParser(sink, TextOptions{})
	p.state, p.transcript = between, true
	return p
}

// Recoveries are the counts of what was repaired so far.
func (p *TextParser) Recoveries() Recoveries { return p.seen }

// FellBack says whether the stream was taken for one without Harmony.
func (p *TextParser) FellBack() bool { return p.watch.fell }

// Write takes the next bytes. now is the time in milliseconds of any clock, which only the fallback looks at; an empty
// chunk does no more than tell it.
func (p *TextParser) Write(chunk []byte, now int64) {
	p.watch.tick(now, len(chunk) > 0)
	if len(chunk) == 0 && p.n == 0 && p.watch.overdue() {
		p.fallBack()
	}
	for p.n > 0 && len(chunk) > 0 {
		p.n += copy(p.tail[p.n:], chunk[:1])
		chunk = chunk[1:]
		p.rerun(false)
	}
	p.run(chunk, false)
}

// Finish ends the stream: what is held back is delivered, and an open message closes with [Cut].
func (p *TextParser) Finish() {
	p.rerun(true)
	p.finishStripped()
	p.release()
	p.mode = printed
	p.finish()
}

// rerun reads the tail again.
func (p *TextParser) rerun(last bool) {
	n := copy(p.again[:], p.tail[:p.n])
	p.n = 0
	p.run(p.again[:n], last)
}

// run parts text from marks. last says that nothing follows, so that nothing is held back.
func (p *TextParser) run(b []byte, last bool) {
	from := 0
	for i := 0; i < len(b); {
		if p.mode >= opening {
			used, partial := p.readStripped(b[i:], last)
			if partial {
				p.n = copy(p.tail[:], b[i:])
				return
			}
			i += used
			from = i
			continue
		}
		if i = p.next(b, i); i >= len(b) {
			break
		}
		mark, size, partial := p.match(b[i:])
		switch {
		case size > 0:
			p.take(b[from:i])
			i += size
			from = i
			p.meet(mark)
		case partial && !last:
			p.take(b[from:i])
			p.n = copy(p.tail[:], b[i:])
			return
		default:
			i++
		}
	}
	p.take(b[from:])
}

// next is the first place from i on where a mark may begin, or len(b).
func (p *TextParser) next(b []byte, i int) int {
	var other byte
	switch p.mode {
	case undecided, splitting:
		other = FinalMark[0]
	case stripped:
		other = strippedBoundaries[0][0]
	default:
		if n := bytes.IndexByte(b[i:], '<'); n >= 0 {
			return i + n
		}
		return len(b)
	}
	for i < len(b) && b[i] != '<' && b[i] != other {
		i++
	}
	return i
}

// match looks for a mark at the beginning of b. partial says that more bytes may make one.
func (p *TextParser) match(b []byte) (mark uint32, size int, partial bool) {
	switch {
	case b[0] == '<':
		return tokenizer.MatchSpecial(b)
	case p.mode == stripped:
		word, partial := firstOf(strippedBoundaries[:], b)
		if word == "" {
			return 0, 0, partial
		}
		return boundaryMark, len(roleWords[Assistant]), false
	case hasPrefix(b, FinalMark):
		return finalMark, len(FinalMark), false
	}
	return 0, 0, begins(b, FinalMark)
}

// firstOf is the word that b begins with, empty for none. partial says that more bytes may make one.
func firstOf(words []string, b []byte) (word string, partial bool) {
	for _, word := range words {
		if hasPrefix(b, word) {
			return word, false
		}
		partial = partial || begins(b, word)
	}
	return "", partial
}

// meet takes a mark.
func (p *TextParser) meet(mark uint32) {
	switch mark {
	case finalMark:
		if p.mode == undecided {
			p.fallBack()
		}
		p.begin(Header{Role: Assistant, Channel: Final})
		p.mode = printed
	case boundaryMark:
		p.head.reset()
		p.head.add(roleWords[Assistant])
		p.mode = opening
	default:
		// A control token says that it is Harmony after all.
		p.release()
		if p.mode == splitting {
			p.mode = printed
		}
		p.control(mark)
	}
}

// take takes text without marks.
func (p *TextParser) take(b []byte) {
	for p.watch.on && len(b) > 0 {
		n := p.watch.room(len(b), p.mode == undecided)
		if n <= 0 {
			p.fallBack()
			break
		}
		p.watch.count(n)
		p.pass(b[:n])
		b = b[n:]
	}
	if len(b) > 0 {
		p.pass(b)
	}
}

func (p *TextParser) pass(b []byte) {
	switch p.mode {
	case undecided:
		p.watch.held = append(p.watch.held, b...)
	case splitting:
		if p.state != inContent {
			p.begin(Header{Role: Assistant, Channel: Analysis})
		}
		p.text(b)
	default:
		p.text(b)
	}
}
