package plugin

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/filter/internal/tapjson"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// tapped is what is noted of a stream that is tapped.
type tapped struct {
	tapper *tapper
	// whole reports whether all frames of the stream are sent. Otherwise only the first and the last one are.
	whole bool
	// upgraded reports whether the client asked for another protocol on its connection, whose bytes are not shown.
	upgraded bool
	// replied reports whether the gateway has answered without a server. After that the host shows this answer.
	replied bool
	// path and pool are where the headers went before the body was read.
	path, pool string
	// lost is how many frames were lost.
	lost int
}

// beginTap begins to tap the stream if its client asks for that, or if all are tapped. id is the request's id.
func (s *stream) beginTap(asked, upgraded bool, method, path, id string) {
	t := s.plugin.tap
	if !asked && t.all == contract.TapNone {
		return
	}
	s.tapped = &tapped{tapper: t, whole: asked || t.all == contract.TapEverything, upgraded: upgraded}
	path, _, _ = strings.Cut(path, "?") // a query may hold a key
	s.show(tap.Request, tapjson.AppendRequestHead(s.json(), &tap.RequestHead{Method: method, Path: path, RequestID: id}))
}

func (s *stream) json() []byte { return s.tapped.tapper.blocks.json[:0] }

// show adds a frame whose payload was written into [stream.json].
func (s *stream) show(kind tap.Kind, json []byte) {
	s.tapped.tapper.blocks.json = json
	s.showBytes(kind, json)
}

// showBytes adds bytes in as many frames as they take.
func (s *stream) showBytes(kind tap.Kind, payload []byte) {
	t := s.tapped.tapper
	if !t.addAll(&tap.Frame{Kind: kind, Stream: s.id, At: micros(), Payload: payload}) {
		s.tapped.lost++
	}
	t.wake()
}

// showPassed shows bytes that pass: a piece of the request's body, or of the response's.
func (s *stream) showPassed(kind tap.Kind, size int) {
	if !s.tapped.whole || s.tapped.upgraded || s.tapped.replied {
		return
	}
	for at := 0; at < size; {
		piece, err := readPart(kind == tap.Chunk, at, min(size-at, pieceSize))
		if err != nil || len(piece) == 0 {
			s.tapped.lost++
			return
		}
		s.showBytes(kind, piece)
		at += len(piece)
		if kind == tap.Chunk {
			s.showEvent(tap.Passed)
		}
	}
}

// showEvent adds a frame without a payload.
func (s *stream) showEvent(kind tap.Kind) {
	if !s.tapped.tapper.add(&tap.Frame{Kind: kind, Stream: s.id, At: micros()}) {
		s.tapped.lost++
	}
}

// showSent shows what a server gets. Without a rewritten request the server gets the client's own.
func (s *stream) showSent(f *exchange.Forward) {
	if !s.tapped.whole {
		return
	}
	report := s.exchange.Report()
	head := tap.SentHead{
		Path: s.tapped.path, Pool: s.tapped.pool, API: report.API, Model: report.Model, Server: report.Server,
		Speaks: s.plugin.speaks(report.Model), Translated: report.Translated,
	}
	if f != nil && f.Pool != "" {
		head.Path, head.Pool = f.Path, f.Pool
	}
	if report.Pool != "" { // as the operator's file names it, and not the route's
		head.Pool = report.Pool
	}
	s.show(tap.Sent, tapjson.AppendSentHead(s.json(), &head))
	if f != nil {
		s.showBytes(tap.SentBody, f.Body)
	}
}

// speaks returns what a model speaks, by its name.
func (p *plugin) speaks(model string) string {
	for i := range p.models {
		if p.models[i].Name == model {
			return p.models[i].Speaks
		}
	}
	return ""
}

// showHead shows the beginning of the server's response.
func (s *stream) showHead(status int, contentType string, local bool) {
	if s.tapped.whole && !s.tapped.replied {
		s.show(tap.Head, tapjson.AppendResponseHead(s.json(), &tap.ResponseHead{
			Status: status, ContentType: contentType, Local: local}))
	}
}

// showPassedHead is showHead for a response that passes.
func (s *stream) showPassedHead() {
	if !s.tapped.whole || s.tapped.replied {
		return
	}
	local, _ := localReply()
	headers, err := readResponseHeaders()
	check("read response headers", err)
	text, _ := find(headers, ":status")
	status, _ := strconv.Atoi(text)
	contentType, _ := find(headers, "content-type")
	s.showHead(status, contentType, local)
}

// showChunk shows a piece of the server's body. It must be called before the exchange takes the piece, which may
// overwrite it.
func (s *stream) showChunk(chunk []byte) {
	if s.tapped.whole && !s.tapped.replied {
		s.showBytes(tap.Chunk, chunk)
	}
}

// showAction shows what the client gets of a part of the response: a head, or none, and a piece of the body. passed
// reports whether it gets the server's piece as it is. The parameters are parts of an action, because a pointer to one
// would cost streams that are not tapped too.
func (s *stream) showAction(head *exchange.Head, body []byte, passed bool) {
	if !s.tapped.whole || s.tapped.replied {
		return
	}
	if head != nil {
		s.show(tap.AnswerHead, tapjson.AppendResponseHead(s.json(), &tap.ResponseHead{
			Status: head.Status, ContentType: head.ContentType}))
	}
	s.showBytes(tap.Answer, body)
	if passed {
		s.showEvent(tap.Passed)
	}
}

// showReply shows an answer of the gateway's own.
func (s *stream) showReply(r *exchange.Reply) {
	if s.tapped.whole && !s.tapped.replied {
		s.show(tap.AnswerHead, tapjson.AppendResponseHead(s.json(), &tap.ResponseHead{
			Status: r.Status, ContentType: r.MediaType(), Local: true}))
		s.showBytes(tap.Answer, r.Body)
	}
	s.tapped.replied = true
}

// endTap shows how the stream has ended.
func (s *stream) endTap(r *exchange.Report, status int) {
	a := aroundOf()
	s.show(tap.End, tapjson.AppendEndReport(s.json(), r, &a, status, s.tapped.lost))
	s.tapped = nil
}

// aroundOf returns what the proxy knows of the stream that has ended. A picker has written the stay in its queue into
// the stream's metadata.
func aroundOf() (a tap.Around) {
	if server, err := readProperty(upstream); err == nil {
		a.Upstream = string(server)
	}
	if class, err := readProperty(queueClass); err == nil {
		a.Class = string(class)
	}
	if ms, err := readProperty(queuedTime); err == nil && len(ms) == 8 {
		if n := math.Float64frombits(binary.LittleEndian.Uint64(ms)); n > 0 && n < 1e9 { // false for NaN
			a.QueuedMS = int64(n)
		}
	}
	return a
}
