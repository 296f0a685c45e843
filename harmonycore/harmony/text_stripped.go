package harmony

import "github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"

// This file reads Harmony that lost its control tokens, as servers print it that skip special tokens. Only the words
// left of a header separate messages:
//
//	stream   = [space] ["assistant"] header content { "assistant" header content }
//	header   = channel [" to=" name] [type] | " to=" name [channel] [type]
//	type     = [space] ( "json" | "code" )
//
// Words are glued together wherever only a control token stood between them, so "to=functions.fcommentary json{…}"
// calls functions.f. Only exact words count: "assistantFinal" is a name that programs use.
var (
	strippedBoundaries = [...]string{"assistantfinal", "assistantanalysis", "assistantcommentary", "assistant to="}
	openingWords       = [...]string{"assistant", recipientMark, Analysis, Commentary, Final}
	// Without a recipient, only the brace or bracket after a type distinguishes it from content.
	channelTails = [...]string{" " + recipientMark, " json{", " json[", "json{", "json["}
	// nameTails are the words that may follow a recipient that came before its channel.
	nameTails = [...]string{"json", "code", Analysis, Commentary, Final}
)

// maxStripped is the greatest length of a stripped header, in bytes. Its channel, recipient and type are words.
const maxStripped = 256

// strippedHeader is the part of a header that has been read.
type strippedHeader struct {
	Header
	// read is all text of the header, which is given back if it is not a header. content is where content begins if no
	// recipient follows. name is where the recipient begins.
	read          []byte
	content, name int
	// known reports whether the form of the stream is known.
	known bool
}

func (h *strippedHeader) reset() {
	h.Header = Header{Role: Assistant}
	h.read = h.read[:0]
	h.content = 0
}

func (h *strippedHeader) add(word string) int {
	h.read = append(h.read, word...)
	return len(word)
}

func (h *strippedHeader) addByte(c byte) int {
	h.read = append(h.read, c)
	return 1
}

// readStripped reads a piece of a header from the beginning of b, which is not empty. used is how many bytes belong to
// the header. The mode may change even if used is 0. partial reports whether more bytes are needed.
func (p *TextParser) readStripped(b []byte, last bool) (used int, partial bool) {
	h := &p.head
	if marked, more := p.atControl(b); marked {
		p.notStripped()
		return 0, false
	} else if more && !last {
		return 0, true
	}
	full := len(h.read) >= maxStripped
	words := openingWords[:]
	switch p.mode {
	case afterChannel:
		words = channelTails[:]
	case inName:
		if isNameByte(b[0]) && !full {
			return h.addByte(b[0]), false
		}
		p.endName()
		return 0, false
	case afterName:
		if words = nameTails[:]; h.Channel != "" {
			words = typeWords[:]
		}
	}
	word, partial := firstOf(words, b)
	switch {
	case word == "" && partial && !last:
		return 0, true
	case word == "" && p.mode != afterChannel && isASCIISpace(b[0]) && !full:
		return h.addByte(b[0]), false
	case p.mode == opening && (word == "" || full):
		p.returnToContent()
		return 0, false
	case word == "" || full:
		p.openStripped()
		return 0, false
	}
	switch word {
	case openingWords[0]:
		return h.add(word), false
	case recipientMark, channelTails[0]:
		used = h.add(word)
		h.name = len(h.read)
		p.mode = inName
		return used, false
	case Analysis, Commentary, Final:
		used = h.add(word)
		h.Channel = word
		if p.mode == opening {
			h.content = len(h.read)
			p.mode = afterChannel
		}
		return used, false
	}
	// A type ends the header. The brace after it is content.
	used = len(word)
	if marked, more := p.atControl(b[used:]); marked {
		p.notStripped()
		return 0, false
	} else if (more || used == len(b)) && !last {
		return 0, true
	}
	h.ContentType = typeWords[0]
	switch {
	case p.mode == afterChannel:
		used--
	case word == typeWords[1]:
		h.ContentType = word
	}
	p.openStripped()
	return used, false
}

// atControl reports whether b begins with a control token while the form of the stream is not known. more reports
// whether more bytes may complete one. A header with a control token is not stripped, such as
// " to=functions.f<|channel|>commentary json<|message|>{}".
func (p *TextParser) atControl(b []byte) (marked, more bool) {
	if p.head.known || len(b) == 0 || b[0] != '<' {
		return false, false
	}
	_, size, more := tokenizer.MatchSpecial(b)
	return size > 0, more
}

// notStripped reads the stream as one that is not stripped.
func (p *TextParser) notStripped() {
	p.mode = p.unstrippedMode
	p.take(p.head.read)
}

// endName ends a recipient at the first byte that cannot be part of a name.
func (p *TextParser) endName() {
	h := &p.head
	name := h.read[min(h.name, len(h.read)):]
	if len(name) == 0 || len(h.read) >= maxStripped {
		p.returnToContent()
		return
	}
	if h.Channel == "" {
		name = h.cutGlued(name)
	}
	h.Recipient = string(name)
	p.mode = afterName
}

// cutGlued cuts off the channel, and its type, that are glued to a name because only control tokens separated them.
func (h *strippedHeader) cutGlued(name []byte) []byte {
	for _, channel := range channelWords {
		if rest, ok := cutSuffix(name, channel); ok {
			h.Channel = channel
			return rest
		}
		for _, typ := range typeWords {
			rest, ok := cutSuffix(name, typ)
			if !ok {
				continue
			}
			if rest, ok = cutSuffix(rest, channel); ok {
				h.Channel, h.ContentType = channel, typ
				return rest
			}
		}
	}
	return name
}

// cutSuffix cuts word off the end of b, unless nothing would remain.
func cutSuffix(b []byte, word string) ([]byte, bool) {
	at := len(b) - len(word)
	if at <= 0 || !hasPrefix(b[at:], word) {
		return b, false
	}
	return b[:at], true
}

func (p *TextParser) openStripped() {
	p.head.known = true
	p.watch.enabled = false
	p.mode = stripped
	p.begin(p.head.Header)
}

// returnToContent delivers text as content that is not a header, or that follows its channel.
func (p *TextParser) returnToContent() {
	h := &p.head
	text := h.read
	switch {
	case h.content > 0:
		p.openStripped()
		text = text[min(h.content, len(text)):]
	case h.known:
		p.mode = stripped
	default:
		p.notStripped()
		return
	}
	p.take(text)
}

// finishStripped ends the stream. A header without anything after it is not a message, as in the other dialects.
func (p *TextParser) finishStripped() {
	switch p.mode {
	case opening:
		p.returnToContent()
	case afterChannel, inName, afterName:
		p.recoveries[DroppedHeader]++
		p.mode = stripped
		if p.state == inContent {
			p.close(EndedByEnd)
		}
	}
}
