package harmony

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Dialect is the form in which a server writes messages as text.
type Dialect uint8

const (
	// Printed is Harmony with its control tokens spelled out, as servers print it with skip_special_tokens=false.
	Printed Dialect = iota
	// Stripped is Harmony without its control tokens: "analysis…assistantfinal…". It is ambiguous by nature. Text that
	// begins so is read as stripped, any other text as [Printed].
	Stripped
	// Split is reasoning, a mark, answer. Models write so if the prompt asks for it. Only the first mark counts.
	Split
)

// FinalMark is the default of [TextOptions.Mark]. MaxMark is the longest possible one, in bytes.
const (
	FinalMark = "===FINAL==="
	MaxMark   = 64
)

// TextOptions describe the expected text. The zero value is [Printed] without a fallback.
type TextOptions struct {
	Dialect Dialect
	// Fallback applies to [Printed], and to [Stripped] if the text does not begin as stripped text does.
	Fallback Fallback
	// Mark ends the reasoning in the dialect [Split]. An empty or too long one is [FinalMark].
	Mark string
}

// TextParser turns text into messages as a [StreamParser] does token ids, with the same machine. It is for servers that
// do not return ids. It cannot distinguish a control token from text that spells one: every spelling, also of a
// reserved token, is a control token. No event contains one, and all other bytes of content are in exactly one event.
//
// The messages do not depend on how the text is cut. The parser holds back the beginning of a control token or of
// another mark until it is decided, and a rune until it is complete. It holds only two things longer: headers
// ([MaxHeaderTokens]), and text that waits for the fallback ([MaxUndecided]). The token counts that the [Sink] receives
// are estimates: four bytes each over the whole stream.
type TextParser struct {
	machine
	mode textMode
	// unstrippedMode is the mode if the text is not stripped.
	unstrippedMode textMode
	// tail holds the last tailSize bytes, which are held back. reread is a copy from which they are read once more.
	tail, reread [longestMark]byte
	tailSize     int
	head         strippedHeader
	watch        watch
	// mark is [TextOptions.Mark].
	mark string
	// controls is the number of control tokens taken. ordinary is the number of bytes written that are not part of one.
	controls, ordinary int
}

type textMode uint8

const (
	// printed recognizes only control tokens.
	printed textMode = iota
	// undecided holds text until the fallback is decided. undecided and splitting also recognize the mark.
	undecided
	splitting
	// stripped is inside the content of a stripped stream. The modes from opening on are inside its headers.
	stripped
	opening
	afterChannel
	inName
	afterName
)

// The marks other than control tokens. No control token has one of these ids.
const (
	splitMark uint32 = iota
	boundaryMark
)

// longestMark is the length of the longest mark: of the control tokens, of [Split]'s marks, and of strippedBoundaries.
const longestMark = max(tokenizer.LongestSpecial, MaxMark, len("assistant"+Commentary))

// NewTextParser returns a parser of a completion: its first byte follows "<|start|>assistant".
func NewTextParser(sink Sink, options TextOptions) *TextParser {
	p := &TextParser{machine: machine{sink: sink}, mark: options.Mark}
	if p.mark == "" || len(p.mark) > MaxMark {
		p.mark = FinalMark
	}
	p.machine.head.bytewise = true
	p.beginHeader(false)
	p.head.reset()
	if options.Dialect == Split {
		p.mode = splitting
		return p
	}
	p.watch.init(options.Fallback)
	if options.Fallback.To == FallBackToSplit {
		p.unstrippedMode = undecided
	}
	p.mode = p.unstrippedMode
	if options.Dialect == Stripped {
		p.mode = opening
	}
	return p
}

// NewTextTranscriptParser returns a parser of a whole conversation in printed text, as [NewTranscriptParser] does for
// ids.
func NewTextTranscriptParser(sink Sink) *TextParser {
	p := NewTextParser(sink, TextOptions{})
	p.state, p.transcript = between, true
	return p
}

// Recoveries returns the counts of the repairs so far.
func (p *TextParser) Recoveries() Recoveries { return p.recoveries }

// FellBack reports whether the parser fell back: it reads the stream as one without Harmony.
func (p *TextParser) FellBack() bool { return p.watch.fellBack }

// Splitting reports whether the text so far is reasoning that a mark should end.
func (p *TextParser) Splitting() bool { return p.mode == splitting }

// Opened returns the number of messages opened so far, the open one included.
func (p *TextParser) Opened() int { return p.opened }

// Taken returns the estimated number of tokens written: one for each control token, and one for four bytes of other
// text.
func (p *TextParser) Taken() int { return p.controls + EstimateTokens(p.ordinary) }

// EstimateTokens returns how many tokens so many bytes of text are, by the estimate of a [TextParser]. The last may be
// incomplete.
func EstimateTokens(bytes int) int { return (max(bytes, 0) + bytesPerToken - 1) / bytesPerToken }

// Timed reports whether the next Write uses its time. Once it does not, it never does again.
func (p *TextParser) Timed() bool { return p.watch.enabled && !p.watch.timedOut }

// Write takes the next bytes. now is the time of any clock, in milliseconds; only the fallback uses it, as long as
// [TextParser.Timed] reports true. An empty chunk only passes the time.
func (p *TextParser) Write(chunk []byte, now int64) {
	p.watch.tick(now, len(chunk) > 0)
	p.ordinary += len(chunk)
	if len(chunk) == 0 && p.tailSize == 0 && p.watch.decidesNext() {
		p.fallBack()
	}
	read := 0
	for p.tailSize > 0 && read < len(chunk) {
		p.tailSize += copy(p.tail[p.tailSize:], chunk[read:read+1])
		read++
		p.rerun(false)
		if p.tailSize <= read {
			// The tail lies in the chunk. Read on from there, or "<<<<" would be a piece of content for each byte.
			read -= p.tailSize
			p.tailSize = 0
		}
	}
	p.run(chunk[read:], false)
}

// Finish ends the stream: it delivers what is held back and closes an open message with [Cut].
func (p *TextParser) Finish() {
	p.rerun(true)
	p.finishStripped()
	p.release()
	p.mode = printed
	p.finish()
}

// Break delivers what is held back, and closes the open message. The text that follows begins a message. The caller
// knows of a message beside the text.
func (p *TextParser) Break() {
	if p.controls+p.ordinary == 0 {
		return
	}
	mode := printed
	switch {
	case p.head.known || p.mode == opening && len(p.head.read)+p.tailSize == 0:
		mode = opening
	case p.mode == splitting:
		mode = splitting
	}
	p.Finish()
	p.beginHeader(false)
	p.head.reset()
	p.mode, p.unstrippedMode = mode, printed
}

// Abandon ends a stream that broke off, as [TextParser.Finish] does. Text that may be the beginning of a control token
// is dropped: more likely it is one than text.
func (p *TextParser) Abandon() {
	if p.tailSize > 0 && p.tail[0] == '<' {
		p.ordinary -= p.tailSize
		p.tailSize = 0
	}
	p.Finish()
}

// rerun reads the tail again.
func (p *TextParser) rerun(last bool) {
	n := copy(p.reread[:], p.tail[:p.tailSize])
	p.tailSize = 0
	p.run(p.reread[:n], last)
}

// run separates text from marks. With last set it holds nothing back, as no more bytes follow.
func (p *TextParser) run(b []byte, last bool) {
	from := 0
	for i := 0; i < len(b); {
		if p.mode >= opening {
			used, partial := p.readStripped(b[i:], last)
			if partial {
				p.tailSize = copy(p.tail[:], b[i:])
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
			p.takeMark(mark, size)
		case partial && !last:
			p.take(b[from:i])
			p.tailSize = copy(p.tail[:], b[i:])
			return
		default:
			i++
		}
	}
	p.take(b[from:])
}

// next returns the first place from i on where a mark may begin, or len(b).
func (p *TextParser) next(b []byte, i int) int {
	var other byte
	switch p.mode {
	case undecided, splitting:
		other = p.mark[0]
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

// match looks for a mark at the beginning of b. partial reports whether more bytes may complete one.
func (p *TextParser) match(b []byte) (mark uint32, size int, partial bool) {
	if b[0] == '<' {
		if mark, size, partial = tokenizer.MatchSpecial(b); size > 0 || partial {
			return mark, size, partial
		}
	}
	switch p.mode {
	case stripped:
		word, partial := firstOf(strippedBoundaries[:], b)
		if word == "" {
			return 0, 0, partial
		}
		return boundaryMark, len(roleWords[Assistant]), false
	case undecided, splitting:
		if hasPrefix(b, p.mark) {
			return splitMark, len(p.mark), false
		}
		return 0, 0, isProperPrefix(b, p.mark)
	}
	return 0, 0, false
}

// firstOf returns the first of words with which b begins, or "". partial reports whether more bytes may complete one.
func firstOf(words []string, b []byte) (word string, partial bool) {
	for _, word := range words {
		if hasPrefix(b, word) {
			return word, false
		}
		partial = partial || isProperPrefix(b, word)
	}
	return "", partial
}

// takeMark handles a mark of this size.
func (p *TextParser) takeMark(mark uint32, size int) {
	switch mark {
	case splitMark:
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
		p.controls++
		p.ordinary -= size
		// A control token shows that the text is Harmony after all.
		p.release()
		if p.mode == splitting {
			p.mode = printed
		}
		p.control(mark)
	}
}

// take handles text without marks.
func (p *TextParser) take(b []byte) {
	for p.watch.enabled && len(b) > 0 {
		n := p.watch.bytesLeft(len(b), p.mode == undecided)
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
