package explain

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Begin selects where a stream begins.
type Begin uint8

// The beginnings of a stream.
const (
	// ByFirstToken is [AtStart] for a stream that begins with <|start|>, and [InAssistant] for any other.
	ByFirstToken Begin = iota
	// InAssistant is after "<|start|>assistant", where a completion begins.
	InAssistant
	// AtStart is before the first <|start|>, where a whole conversation begins.
	AtStart
)

// token is one id of the stream, with the repairs that were made when the parser read it.
type token struct {
	id    uint32
	notes []harmony.Recovery
}

// block is a message with its tokens from header to end, or tokens that did not become a message.
type block struct {
	message  bool
	header   harmony.Header
	text     []byte
	end      harmony.End
	from, to int
}

// recorder is the parser's [harmony.Sink]. It assigns each token to a block. A token belongs to the message that is
// open after it, or else to the next message; the token that ends a message belongs to that message.
type recorder struct {
	tokens []token
	blocks []block
	// seen are the recoveries that have been assigned to a token.
	seen harmony.Recoveries
	// atEnd are the repairs made at the end of the stream.
	atEnd []harmony.Recovery
	// open reports whether the last block is a message that is still being read.
	open bool
	// from is the first token that is in no block yet; mark is the last token that may begin a header.
	from, mark int
	finished   bool
}

// record parses a stream and returns its blocks. begun is what comes before the stream and is not shown.
func record(t *tokenizer.Tokenizer, begun, ids []uint32, begin Begin) *recorder {
	r := &recorder{tokens: make([]token, 0, len(ids))}
	p := harmony.NewStreamParser(t, r)
	if begin == AtStart || begin == ByFirstToken && len(ids) > 0 && ids[0] == tokenizer.Start {
		p = harmony.NewTranscriptParser(t, r)
	}
	for _, id := range begun {
		p.Process(id)
	}
	r.seen = p.Recoveries()
	for i, id := range ids {
		r.tokens = append(r.tokens, token{id: id})
		if id == tokenizer.Start || id == tokenizer.Channel {
			r.mark = i
		}
		p.Process(id)
		notes := r.newRecoveries(p.Recoveries())
		r.tokens[i].notes = notes
		r.addDropped(i, notes)
	}
	r.finished = true
	p.Finish()
	r.atEnd = r.newRecoveries(p.Recoveries())
	r.drop(len(ids))
	return r
}

// newRecoveries returns the recoveries that now counts and r.seen does not, and adds them to r.seen.
func (r *recorder) newRecoveries(now harmony.Recoveries) (notes []harmony.Recovery) {
	for kind := range now {
		for ; r.seen[kind] < now[kind]; r.seen[kind]++ {
			notes = append(notes, harmony.Recovery(kind))
		}
	}
	return notes
}

// addDropped makes a block of the tokens that the parser has just given up, so that they do not become part of the next
// message.
func (r *recorder) addDropped(at int, notes []harmony.Recovery) {
	if r.open {
		return
	}
	for _, kind := range notes {
		if kind != harmony.StrayTerminator && kind != harmony.DroppedHeader {
			continue
		}
		if r.tokens[at].id == tokenizer.Start {
			r.drop(at)
		} else {
			r.drop(at + 1)
		}
	}
}

// drop makes a block without a message of all tokens before to that are in no block yet.
func (r *recorder) drop(to int) {
	if r.from < to {
		r.blocks = append(r.blocks, block{from: r.from, to: to})
		r.from = to
	}
}

func (r *recorder) Open(h harmony.Header) {
	r.blocks = append(r.blocks, block{message: true, header: h, from: r.from})
	r.open = true
}

func (r *recorder) Content(text []byte, _ int) {
	b := &r.blocks[len(r.blocks)-1]
	b.text = append(b.text, text...)
}

func (r *recorder) Close(end harmony.End) {
	b := &r.blocks[len(r.blocks)-1]
	b.end = end
	switch {
	case r.finished || end != harmony.Cut:
		b.to = len(r.tokens)
	default: // the header of the next message has closed it
		b.to = max(r.mark, b.from)
	}
	r.from = b.to
	r.open = false
}
