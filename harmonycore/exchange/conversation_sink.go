package exchange

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// messageSource is the part of a server's answer that the open message comes from.
type messageSource uint8

const (
	fromNothing messageSource = iota
	fromReasoning
	fromText
	fromCalls
)

// conversationSink is between a [conversationParser] and its choice. It is the sink of the adapter too. It counts
// messages and tokens, and gives the choice the logprobs of the text.
type conversationSink struct {
	translate.Choice
	source messageSource
	// open reports whether a message is open, and opened is how many have been.
	open   bool
	opened int
	// waiting reports whether the open message has only blanks so far, which are in blanks. header is its header. shown
	// reports whether the choice has got any message.
	waiting, shown bool
	header         harmony.Header
	blanks         []byte
	// bytes is the length of the content so far, and tokens how many tokens of it the choice was told.
	bytes, tokens int
	logprobs      textLogprobs
	// counted reports whether the numbers of tokens are known. arrived is how many tokens have come that the choice was
	// not told of.
	counted bool
	arrived int
}

// Open implements [harmony.Sink]. A message of text waits for its first character that is not blank: many templates put
// line ends between reasoning and calls, and clients would show them as a message.
func (s *conversationSink) Open(h harmony.Header) {
	s.open = true
	s.opened++
	if kind := h.Kind(); s.source == fromText && (kind == harmony.PartText || kind == harmony.PartPreamble) {
		s.waiting, s.header, s.blanks = true, h, s.blanks[:0]
		return
	}
	s.show(h)
}

func (s *conversationSink) show(h harmony.Header) {
	s.waiting, s.shown = false, true
	s.Choice.Open(h)
}

// maxBlanks is how many blanks at the beginning of a message wait for its text, in bytes.
const maxBlanks = 256

// Content implements [harmony.Sink].
func (s *conversationSink) Content(text []byte, _ int) {
	if s.waiting {
		s.blanks = append(s.blanks, text...)
		if len(s.blanks) <= maxBlanks && len(bytes.TrimSpace(s.blanks)) == 0 {
			return
		}
		text = s.blanks
		s.show(s.header)
	}
	s.pass(text)
}

// pass gives the choice content of the open message. The number of tokens is estimated over the whole answer, unless
// it is known. The tokens of a mark count with the text after it.
func (s *conversationSink) pass(text []byte) {
	s.bytes += len(text)
	tokens := harmony.EstimateTokens(s.bytes) - s.tokens
	if s.counted {
		tokens, s.arrived = s.arrived, 0
	}
	s.tokens += tokens
	if s.logprobs.some() {
		s.logprobs.take(text, s.Choice.Logprob)
	}
	s.Choice.Content(text, tokens)
}

// Close implements [harmony.Sink]. A message of blanks is left out.
func (s *conversationSink) Close(end harmony.End) {
	if s.waiting && len(s.blanks) == 0 {
		s.show(s.header) // the model has said that it answers with nothing
	}
	switch {
	case s.open && s.waiting:
		if s.logprobs.some() {
			s.logprobs.take(s.blanks, func(*openai.Logprob) {})
		}
	case s.open:
		s.Choice.Close(end)
	}
	s.open, s.waiting = false, false
}

// conclude shows blanks that are the whole answer.
func (s *conversationSink) conclude(end harmony.End) {
	if !s.shown && len(s.blanks) > 0 {
		s.show(s.header)
		s.pass(s.blanks)
		s.Choice.Close(end)
	}
}

// begin opens a message that an adapter does not see.
func (s *conversationSink) begin(source messageSource, h harmony.Header) {
	s.source = source
	s.Open(h)
}
