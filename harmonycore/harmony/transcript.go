package harmony

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// Transcript is a [Sink] that keeps the conversation so far as JSON: the messages of a prompt, and after them the
// messages of a parser. It has a limit. Beyond the limit it releases its content, and [Transcript.AppendJSON] appends
// null.
type Transcript struct {
	w     messageJSON
	first bool
	// header is the header of the open message.
	header Header
	open   bool
}

// NewTranscript returns a [Transcript] of at most limit bytes that begins with the messages of c that p keeps. It
// writes them into scratch, and returns scratch grown. The [Transcript] has a copy, and keeps no reference to c.
func NewTranscript(scratch []byte, c *Conversation, p AnalysisPolicy, limit int) (*Transcript, []byte) {
	w := messageJSON{dst: scratch[:0], limit: limit}
	dropped := c.analysisDroppedBefore(p)
	first := true
	for i := range c.Messages {
		m := &c.Messages[i]
		if i < dropped && m.onChannel(Analysis) {
			continue
		}
		if w.message(m, first); w.exceeded {
			break
		}
		first = false
	}
	t := &Transcript{w: messageJSON{limit: limit, exceeded: w.exceeded}, first: first}
	if !w.exceeded {
		t.w.dst = append(make([]byte, 0, len(w.dst)), w.dst...)
	}
	return t, w.dst
}

// Open implements [Sink].
func (t *Transcript) Open(h Header) {
	if t.w.exceeded {
		return
	}
	if h.Role == 0 {
		h.Role = Assistant
	}
	if !t.first {
		t.w.put(`,`)
	}
	t.first = false
	t.header, t.open = h, true
	t.w.open(h.Role, optional(h.Name), optional(h.Recipient))
	t.w.put(`"`)
}

// Content implements [Sink].
func (t *Transcript) Content(text []byte, _ int) {
	if t.w.exceeded || !t.open {
		return
	}
	t.w.dst = rawjson.AppendEscaped(t.w.dst, string(text))
	if len(t.w.dst) > t.w.limit {
		t.w.exceeded = true
		t.w.dst = nil
	}
}

// Close implements [Sink].
func (t *Transcript) Close(End) {
	if t.w.exceeded || !t.open {
		return
	}
	t.open = false
	t.w.put(`"`)
	t.w.close(optional(t.header.Channel), optional(t.header.ContentType))
}

// optional returns a field of a header as an [Optional], which is absent if the field is empty.
func optional(s string) Optional { return Optional{Value: s, Set: s != ""} }

// AppendJSON appends the conversation, {"messages":[…]}, as the reference and [DecodeConversation] read it. It appends
// null if the conversation has outgrown its limit, and while a message is open.
func (t *Transcript) AppendJSON(dst []byte) []byte {
	if t.w.exceeded || t.open {
		return append(dst, "null"...)
	}
	return append(t.AppendMessages(append(dst, `{"messages":`...)), '}')
}

// AppendMessages appends only the messages, as an array, or null in the same cases.
func (t *Transcript) AppendMessages(dst []byte) []byte {
	if t.w.exceeded || t.open {
		return append(dst, "null"...)
	}
	dst = append(append(dst, '['), t.w.dst...)
	return append(dst, ']')
}
