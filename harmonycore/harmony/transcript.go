package harmony

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// Transcript is a conversation so far as JSON: the messages of a prompt, and behind them those that a parser delivers
// to it, as a [Sink]. It has a limit, beyond which it lets go of all that it holds and says so.
type Transcript struct {
	w     messageJSON
	first bool
	// header is that of the open message.
	header Header
	open   bool
}

// NewTranscript begins a [Transcript] of at most so many bytes with the messages of c that p keeps. They are written
// into scratch, which is returned grown; the [Transcript] has a copy, and nothing of c.
func NewTranscript(scratch []byte, c *Conversation, p AnalysisPolicy, most int) (*Transcript, []byte) {
	w := messageJSON{dst: scratch[:0], most: most}
	dropped := c.analysisDroppedBefore(p)
	first := true
	for i := range c.Messages {
		m := &c.Messages[i]
		if i < dropped && m.onChannel(Analysis) {
			continue
		}
		if w.message(m, first); w.over {
			break
		}
		first = false
	}
	t := &Transcript{w: messageJSON{most: most, over: w.over}, first: first}
	if !w.over {
		t.w.dst = append(make([]byte, 0, len(w.dst)), w.dst...)
	}
	return t, w.dst
}

// Open implements [Sink].
func (t *Transcript) Open(h Header) {
	if t.w.over {
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
	t.w.open(h.Role, stated(h.Name), stated(h.Recipient))
	t.w.put(`"`)
}

// Content implements [Sink].
func (t *Transcript) Content(text []byte, _ int) {
	if t.w.over || !t.open {
		return
	}
	t.w.dst = rawjson.AppendEscaped(t.w.dst, string(text))
	if len(t.w.dst) > t.w.most {
		t.w.over = true
		t.w.dst = nil
	}
}

// Close implements [Sink].
func (t *Transcript) Close(End) {
	if t.w.over || !t.open {
		return
	}
	t.open = false
	t.w.put(`"`)
	t.w.close(stated(t.header.Channel), stated(t.header.ContentType))
}

// stated is what a header says, absent when it says nothing.
func stated(s string) Optional { return Optional{Value: s, Set: s != ""} }

// AppendJSON appends the conversation, {"messages":[…]}, as the reference and [DecodeConversation] read it: null when
// it has outgrown its limit, and while a message is open.
func (t *Transcript) AppendJSON(dst []byte) []byte {
	if t.w.over || t.open {
		return append(dst, "null"...)
	}
	return append(t.AppendMessages(append(dst, `{"messages":`...)), '}')
}

// AppendMessages appends the messages alone, as an array or null.
func (t *Transcript) AppendMessages(dst []byte) []byte {
	if t.w.over || t.open {
		return append(dst, "null"...)
	}
	dst = append(append(dst, '['), t.w.dst...)
	return append(dst, ']')
}
