package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/affinity"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/internal/wholerunes"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

// stream makes lines of the frames of one request.
type stream struct {
	entry *entry
	// began is the time of the first frame, and at the time of the newest, in microseconds since 1970.
	began, at int64
	// request and sent are lines that wait for the rest of their bodies. They are nil once they are written.
	request *line.Request
	sent    *line.Sent
	// body and sentBody are those bodies so far.
	body, sentBody body
	// answer reads what the server sends. It is nil before there is a response.
	answer   *answer
	sentHead tap.SentHead
	// begun is the part of the answer that the prompt ends with.
	begun prompt
	// ids is the prompt and what the model wrote behind it, and prompt how many of them are the prompt. whole reports
	// whether there was no room for more of them. key is the client's own name for the conversation.
	ids    []uint32
	prompt int
	whole  bool
	key    affinity.Hash
	// chunk is the server's newest chunk, which came at chunkAt, for a client that gets it as it is.
	chunk   []byte
	chunkAt int64
	// chunkTail and answerTail are the beginnings of characters at the end of what was written.
	chunkTail, answerTail []byte
}

func newStream(e *entry, head tap.RequestHead, at int64) *stream {
	s := &stream{entry: e, began: at, at: at}
	s.request = &line.Request{
		Head: s.head(line.TypeRequest), Record: line.Version, Time: time.UnixMicro(at).UTC().Format(time.RFC3339Nano),
		Method: head.Method, Path: head.Path, RequestID: head.RequestID,
	}
	return s
}

func (s *stream) head(kind string) line.Head {
	return line.Head{Type: kind, AtMS: float64(s.at-s.began) / 1000}
}

// take takes the next frame.
func (s *stream) take(f tap.Frame) {
	s.at = max(f.At, s.at) // clocks are set back
	sum := &s.entry.summary
	switch f.Kind {
	case tap.Request:
		return
	case tap.Body:
		s.addBody(&s.body, f.Payload, s.request != nil)
		return
	case tap.Sent:
		s.takeSent(f.Payload) // the client's body may come after it, if it passes as it is
		return
	case tap.SentBody:
		s.settleRequest()
		s.addBody(&s.sentBody, f.Payload, s.sent != nil)
		return
	}
	s.settle()
	switch f.Kind {
	case tap.Head:
		s.takeHead(f.Payload)
	case tap.Chunk:
		s.takeChunk(f)
	case tap.AnswerHead:
		l := &line.Response{Head: s.head(line.TypeAnswerHead)}
		readJSON(f.Payload, &l.ResponseHead)
		sum.Status = l.Status
		s.entry.write(l)
	case tap.Answer:
		s.dropChunk()
		s.writePiece(line.TypeAnswer, &s.answerTail, f.Payload, false)
	case tap.Passed:
		s.writePiece(line.TypeAnswer, &s.answerTail, s.chunk, false)
		s.dropChunk()
	case tap.End:
		s.takeEnd(f.Payload)
	}
}

// body is a body that comes in pieces. cut is how many bytes it had no room for.
type body struct {
	bytes []byte
	cut   int
}

// addBody adds a piece of a body. waits reports whether its line is not written yet.
func (s *stream) addBody(b *body, piece []byte, waits bool) {
	s.entry.summary.Whole = true
	switch {
	case !waits:
		s.entry.lost++
	case len(b.bytes)+len(piece) > MaxBody || !s.entry.hold(len(piece)):
		b.cut += len(piece)
	default:
		b.bytes = append(b.bytes, piece...)
	}
}

func (s *stream) dropBody(b *body) {
	s.entry.release(len(b.bytes))
	*b = body{}
}

// whole reports whether a body is JSON, which has an end.
func (b *body) whole() bool {
	text := bytes.TrimSpace(b.bytes)
	return len(text) > 0 && text[len(text)-1] == '}' && json.Valid(text)
}

// settle writes the lines that wait for their bodies.
func (s *stream) settle() {
	s.settleRequest()
	if s.sent == nil {
		return
	}
	l := s.sent
	s.sent = nil
	p := readPrompt(s.sentBody.bytes)
	l.PromptIDs, l.PromptText, l.Body, l.CutBytes = p.ids, p.text, p.rest, s.sentBody.cut
	s.entry.summary.PromptTokens = len(p.ids)
	s.dropBody(&s.sentBody)
	s.entry.write(l)
	s.keepIDs(p.ids)
	s.begun = prompt{text: strings.Clone(line.BegunText(p.text))}
	if len(p.ids) > 0 && !contract.TakesConversations(s.sentHead.Server) { // those have a vocabulary of their own
		s.begun.ids = slices.Clone(line.BegunIDs(s.entry.recorder.options.Tokenizer(), p.ids))
	}
}

func (s *stream) settleRequest() {
	if s.request == nil {
		return
	}
	l := s.request
	s.request = nil
	l.Body, l.CutBytes = bodyJSON(s.body.bytes), s.body.cut
	s.key = keyOf(l.Body)
	s.dropBody(&s.body)
	s.entry.write(l)
}

// pause is called when no further frame has come yet. A server's request is written as soon as it is whole: the server
// may think for long.
func (s *stream) pause() {
	if s.sent != nil && s.sentBody.whole() {
		s.settle()
	}
	if s.answer != nil {
		s.answer.flush()
	}
}

func (s *stream) takeSent(payload []byte) {
	if s.sent != nil {
		s.settle() // the gateway asks again
	}
	s.endAnswer()
	l := &line.Sent{Head: s.head(line.TypeSent)}
	readJSON(payload, &l.SentHead)
	l.Path = limited(l.Path, maxPath)
	for _, text := range []*string{&l.API, &l.Model, &l.Server, &l.Pool, &l.Speaks} {
		*text = short(*text)
	}
	s.sent, s.sentHead, s.begun = l, l.SentHead, prompt{}
	s.dropIDs()
	sum := &s.entry.summary
	sum.API, sum.Model, sum.Server, sum.Pool = l.API, l.Model, l.Server, l.Pool
	sum.Whole = true
}

func (s *stream) takeHead(payload []byte) {
	s.endAnswer()
	l := &line.Response{Head: s.head(line.TypeHead)}
	readJSON(payload, &l.ResponseHead)
	s.entry.summary.Status = l.Status
	s.entry.write(l)
	s.answer = newAnswer(s, l.ResponseHead)
}

// takeChunk reads what the server has sent. Data without tokens is written as it is.
func (s *stream) takeChunk(f tap.Frame) {
	if f.At != s.chunkAt { // a large chunk comes in several frames
		s.dropChunk()
	}
	s.chunkAt = f.At
	if s.entry.hold(len(f.Payload)) {
		s.chunk = append(s.chunk, f.Payload...)
	}
	if s.answer == nil || !s.answer.take(f.Payload) {
		s.writePiece(line.TypeChunk, &s.chunkTail, f.Payload, false)
	}
}

func (s *stream) dropChunk() {
	s.entry.release(len(s.chunk))
	s.chunk = nil
}

// writePiece writes a piece of a body. The beginning of a character at its end waits in tail for the next piece, unless
// this is the last one.
func (s *stream) writePiece(kind string, tail *[]byte, piece []byte, last bool) {
	piece = append(bytes.Clone(*tail), piece...)
	text, taken := wholerunes.AppendRepaired(nil, piece, last)
	*tail = piece[taken.Used:]
	if len(text) > 0 {
		s.entry.write(&line.Piece{Head: s.head(kind), Body: string(text)})
	}
}

func (s *stream) takeEnd(payload []byte) {
	l := &line.End{}
	readJSON(payload, &l.EndReport)
	s.endAnswer()
	sum := &s.entry.summary
	sum.DurationMS = (s.at - s.began) / 1000
	if l.Status > 0 {
		sum.Status = l.Status
	}
	for to, value := range map[*string]string{
		&sum.API: l.API, &sum.Model: l.Model, &sum.Server: l.Server, &sum.Pool: l.Pool, &sum.Policy: l.Policy,
		&sum.Finish: l.Finish, &sum.Cut: l.Cut, &sum.EarlyEnd: l.EarlyEnd, &sum.Route: l.Route, &sum.Client: l.Client,
		&sum.Upstream: l.Upstream, &sum.Class: l.Class,
	} {
		if value != "" {
			*to = short(value)
		}
	}
	sum.PromptTokens, sum.CompletionTokens = l.PromptTokens, l.CompletionTokens
	sum.QueuedMS = max(l.QueuedMS, 0)
	l.Recoveries = known(l.Recoveries)
	sum.FirstTokenMS, sum.Recoveries = l.FirstTokenMS, l.Recoveries
	sum.setRate()
	l.Broken, l.Cache = sum.Broken, s.cache(l)
	if c := l.Cache; c != nil && c.Reason != segments.Nothing.String() {
		sum.CacheMissed, sum.ComputedAgain = c.Reason, c.Again
	}
	s.writeEnd(l)
}

// finish ends a record that has no end yet. broken says why.
func (s *stream) finish(broken string) {
	if broken == "" {
		return
	}
	s.settle()
	s.endAnswer()
	s.entry.summary.Broken = broken
	s.entry.summary.DurationMS = (s.at - s.began) / 1000
	s.writeEnd(&line.End{Broken: broken, EndReport: tap.EndReport{FirstTokenMS: -1}})
}

// endAnswer ends the server's answer, and gives back the memory of what came with it.
func (s *stream) endAnswer() {
	if s.answer != nil {
		s.answer.end()
		s.answer = nil
	}
	s.writePiece(line.TypeChunk, &s.chunkTail, nil, true)
}

func (s *stream) writeEnd(l *line.End) {
	s.dropChunk()
	s.dropIDs()
	s.writePiece(line.TypeAnswer, &s.answerTail, nil, true)
	l.Head, l.LostLines = s.head(line.TypeEnd), s.entry.lost
	s.entry.write(l)
}

// readJSON reads a payload. A payload that cannot be read leaves it empty: the record goes on.
func readJSON(payload []byte, to any) { _ = json.Unmarshal(payload, to) }

// known returns the counts of the kinds of recoveries that there are.
func known(counts map[string]uint64) map[string]uint64 {
	var out map[string]uint64
	for kind := range (harmony.Recoveries{}) {
		name := harmony.Recovery(kind).String()
		if n := counts[name]; n > 0 {
			if out == nil {
				out = map[string]uint64{}
			}
			out[name] = n
		}
	}
	return out
}

// The longest texts of heads that are kept, in bytes: of a path, and of a name.
const (
	maxPath = 8 << 10
	maxName = 256
)

func short(text string) string { return limited(text, maxName) }

// limited returns the beginning of a text. It is a copy if it is not all of it.
func limited(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.Clone(text[:most])
}
