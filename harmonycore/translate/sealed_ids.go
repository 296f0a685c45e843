package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// Trail holds the ids of the newest message of an answer whose reasoning is sealed, or those that followed the last
// one. A nil one holds nothing.
type Trail struct {
	ids []uint32
	// reasoning are the ids of the open item's message of reasoning, once it has closed.
	reasoning []uint32
	// skipping reports whether the open message is no reasoning, so that its ids do not matter.
	skipping bool
}

// KeepTrail makes the answer keep the ids of its reasoning, if that is sealed. header is the part of the answer that
// the prompt ends with.
func (r *Request) KeepTrail(header []uint32) {
	if r.sealed && r.asSampled && r.env.Sealing.Keys != nil && r.env.Tokenizer != nil {
		r.trail = &Trail{ids: append([]uint32(nil), header...)}
	}
}

// Trail returns the trail of the request's answer, or nil.
func (r *Request) Trail() *Trail { return r.trail }

// Add adds an id, before the parser gets it.
func (t *Trail) Add(id uint32) {
	if !t.skipping {
		t.ids = append(t.ids, id)
	}
}

// opened is called when a message has opened.
func (t *Trail) opened(reasoning bool) {
	if t != nil {
		t.skipping = !reasoning
	}
}

// closed takes the ids of the message that has closed, if it was reasoning.
func (t *Trail) closed(reasoning bool) {
	if t == nil {
		return
	}
	t.reasoning = t.reasoning[:0]
	if reasoning {
		t.reasoning = append(t.reasoning, t.ids...)
	}
	t.ids, t.skipping = t.ids[:0], false
}

// seal returns reasoning with this text as an encrypted_content in JSON: as the ids with which the model has written it,
// and those of the header of the call that comes next if beforeCall is set, or as its text if the ids do not say just
// that.
func (t *Trail) seal(env *Env, model string, text []byte, beforeCall bool) []byte {
	s := &env.Sealing
	if t != nil && len(t.reasoning) > 0 {
		w := writing{t: env.Tokenizer}
		ids := w.started(t.reasoning)
		want := []harmony.Message{{Role: harmony.Assistant, Channel: harmony.Some(harmony.Analysis),
			Content: harmony.Text(rawjson.View(text))}}
		if read := w.read(ids, want); len(read) == 1 {
			packed := appendPacked(nil, uint32(len(ids)))
			packed = appendAllPacked(packed, ids)
			if beforeCall {
				packed = appendAllPacked(packed, t.ids)
			}
			return s.sealAs(seal.Message, packed, model, env.Now)
		}
	}
	return s.seal(text, model, env.Now)
}

func appendAllPacked(dst []byte, ids []uint32) []byte {
	for _, id := range ids {
		dst = appendPacked(dst, id)
	}
	return dst
}

// started returns ids of a message with <|start|>assistant before them, which the prompt has if they are an answer's
// first.
func (w *writing) started(ids []uint32) []uint32 {
	if w.begins(ids) {
		return ids
	}
	return append(w.begin(len(ids)), ids...)
}

// read returns the messages that ids have written, if they say just what want does, else none.
func (w *writing) read(ids []uint32, want []harmony.Message) []harmony.Message {
	s := spelling{ids: ids}
	s.expect(want)
	s.reader = harmony.NewSampledReader(w.t, &s)
	if len(ids) <= begun || !s.reader.Read(ids[begun:]) || !s.complete() {
		return nil
	}
	return s.messages
}

// openedReasoning is reasoning that was sealed as ids.
type openedReasoning struct {
	text []byte
	// ids are those of the message, and header those of the call's header that came next, if one did.
	ids, header []uint32
}

// openReasoning reads what [Trail.seal] has sealed as ids. It reports whether it could.
func (r *Request) openReasoning(packed []byte) (o *openedReasoning, ok bool) {
	o = &openedReasoning{}
	if r.env.Tokenizer == nil {
		return o, false
	}
	all, whole := appendUnpacked(make([]uint32, 0, packedCount(packed)), packed)
	if !whole || len(all) == 0 || uint64(all[0]) > uint64(len(all)-1) {
		return o, false
	}
	n := 1 + int(all[0])
	o.ids, o.header = all[1:n], all[n:]
	w := writing{t: r.env.Tokenizer}
	if !w.begins(o.ids) {
		return o, false
	}
	var read readReasoning
	if !harmony.NewSampledReader(w.t, &read).Read(o.ids[begun:]) || read.messages != 1 {
		return o, false
	}
	o.text = read.text
	return o, true
}

// readReasoning is a sink for one message of reasoning.
type readReasoning struct {
	messages int
	text     []byte
}

// Open implements [harmony.Sink].
func (s *readReasoning) Open(h harmony.Header) {
	if s.messages++; h.Channel != harmony.Analysis || h.Recipient != "" {
		s.messages = -1
	}
}

// Content implements [harmony.Sink].
func (s *readReasoning) Content(text []byte, _ int) { s.text = append(s.text, text...) }

// Close implements [harmony.Sink].
func (s *readReasoning) Close(harmony.End) {}

// begunBy gives a call the header that the model has written for it, if it is of this call.
func (w *writing) begunBy(m *harmony.Message) {
	header := w.header
	if w.header = nil; len(header) == 0 || header[len(header)-1] != tokenizer.Message || !w.begins(header) {
		return
	}
	var s headerSink
	if harmony.NewSampledReader(w.t, &s).Read(header[begun:]) && s.header.Channel == m.Channel.Value &&
		s.header.Recipient == m.Recipient.Value && s.messages == 1 {
		m.Sampled = header
	}
}

// headerSink is a sink for the header of one message.
type headerSink struct {
	header   harmony.Header
	messages int
}

// Open implements [harmony.Sink].
func (s *headerSink) Open(h harmony.Header) { s.header, s.messages = h, s.messages+1 }

// Content implements [harmony.Sink].
func (s *headerSink) Content([]byte, int) {}

// Close implements [harmony.Sink].
func (s *headerSink) Close(harmony.End) {}

// sealedReasoning adds an item of reasoning that was sealed as ids.
func (b *builder) sealedReasoning(o *openedReasoning) {
	before := len(b.messages)
	b.assistant(harmony.Analysis, []string{rawjson.Keep(o.text)})
	if len(b.messages) == before || b.writing.t == nil || len(o.ids)+len(o.header) > b.writing.left {
		return
	}
	b.writing.left -= len(o.ids) + len(o.header)
	b.messages[before].Sampled = o.ids
	b.writing.header = o.header
}

// reasoningText is [Request.reasoningOf] for servers that take conversations.
func (r *Request) reasoningText(item *openai.InputItem) ([]string, *openai.Error) {
	content, opened, err := r.reasoningOf(item)
	if opened != nil {
		content = []string{rawjson.Keep(opened.text)}
	}
	return content, err
}
