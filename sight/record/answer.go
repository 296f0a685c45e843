package record

import (
	"mime"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

// answer reads a server's response.
type answer struct {
	stream *stream
	kind   *contract.Kind
	// reader is nil if the response holds no tokens.
	reader  backend.Reader
	choices []*choice
	// held is how much the reader may hold of an event that is not whole, in bytes.
	held int
}

// newAnswer returns what reads the response to the stream's request.
func newAnswer(s *stream, h tap.ResponseHead) *answer {
	a := &answer{stream: s}
	media, _, err := mime.ParseMediaType(h.ContentType)
	if h.Status != 200 || h.Local || err != nil {
		return a
	}
	name := s.sentHead.Server
	path, _, _ := strings.Cut(s.sentHead.Path, "?")
	ownChat := strings.HasSuffix(path, contract.ChatPath)
	ownResponses := strings.HasSuffix(path, contract.ResponsesPath)
	ownMessages := strings.HasSuffix(path, contract.MessagesPath)
	if !s.sentHead.Translated { // a server's own API
		if !ownChat && !ownResponses && !ownMessages {
			return a
		}
		name = contract.Chat
	}
	kind, known := backend.Named(name)
	if !known {
		return a
	}
	a.kind = kind.Facts()
	stream, whole := media == a.kind.StreamType(), media == "application/json" && a.kind.Conversations
	switch {
	case stream && ownResponses:
		a.reader = backend.NewResponsesReader()
	case stream && ownMessages:
		a.reader = backend.NewMessagesReader()
	case whole && ownMessages:
		a.reader = backend.NewWholeMessagesReader()
	case stream:
		a.reader = kind.NewReader()
	case whole && ownResponses:
		a.reader = backend.NewWholeResponsesReader()
	case whole:
		a.reader = backend.NewWholeReader()
	}
	return a
}

// take reads a chunk. It reports whether everything in it was tokens.
func (a *answer) take(chunk []byte) bool {
	if a.reader == nil {
		return false
	}
	if !a.stream.entry.hold(len(chunk)) {
		a.giveUp()
		return false
	}
	a.held += len(chunk)
	a.reader.Write(slices.Clone(chunk)) // the reader overwrites it
	e, understood := &a.stream.entry.recorder.event, true
	for {
		switch a.reader.Next(e) {
		case backend.Drained:
			a.flush()
			return understood
		case backend.Read:
			a.release(len(chunk))
			a.takeEvent(e)
			understood = understood && e.Error == nil
		case backend.Garbled:
			understood = false
		default:
			a.giveUp()
			return false
		}
	}
}

// release gives back the memory of events that were read: what is left came with the newest chunk, which has size
// bytes.
func (a *answer) release(size int) {
	if a.held > size {
		a.stream.entry.release(a.held - size)
		a.held = size
	}
}

func (a *answer) giveUp() {
	a.flush()
	a.release(0)
	a.reader = nil
}

func (a *answer) takeEvent(e *backend.Event) {
	if e.HasUsage && e.Usage.Prompt > 0 {
		a.stream.entry.summary.PromptTokens = e.Usage.Prompt
	}
	if e.Index < 0 || e.Index >= contract.MaxChoices {
		return
	}
	for len(a.choices) <= e.Index {
		a.choices = append(a.choices, nil)
	}
	c := a.choices[e.Index]
	if c == nil {
		c = newChoice(a, e.Index)
		a.choices[e.Index] = c
	}
	c.take(e)
}

// flush writes the tokens that were read.
func (a *answer) flush() {
	for _, c := range a.choices {
		if c != nil {
			c.flush()
		}
	}
}

// end ends all choices.
func (a *answer) end() {
	for _, c := range a.choices {
		if c != nil {
			c.end()
		}
	}
	a.release(0)
}

// wrote notes tokens of any choice.
func (a *answer) wrote(n int) {
	s := a.stream
	sum := &s.entry.summary
	if n > 0 && sum.FirstTokenMS < 0 {
		sum.FirstTokenMS = (s.at - s.began) / 1000
	}
	sum.CompletionTokens += n
	sum.DurationMS = (s.at - s.began) / 1000
	sum.setRate()
}

func (a *answer) write(l line.Line) { a.stream.entry.write(l) }
