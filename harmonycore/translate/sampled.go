package translate

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// writing puts the ids with which the model has written its earlier messages into a conversation. A zero one does not.
//
// A turn is the assistant's messages since the last turn, or since the last message of another role. The ids of a turn
// are read, and compared with the texts that the client has sent: only if they say the same, they stand in the prompt.
// So a client can say with them in which tokens a text is spelled, and nothing else.
type writing struct {
	t *tokenizer.Tokenizer
	// left is how many more ids may be read. A conversation with more does not fit the model's context: reasoning may come
	// twice, sealed and in its turn.
	left int
	// from is the index of the first message of the turn, unless a message of another role comes later.
	from int
	// silent is the number of items of reasoning in the turn whose text was not shown to the client.
	silent int
	// header are the ids of the header of the call that comes next, if sealed reasoning has told them.
	header []uint32
}

// leave is called before a message of another role than the assistant's.
func (w *writing) leave() { w.silent, w.header = 0, nil }

// turnIDs are the ids of a turn that a client has sent.
type turnIDs struct {
	ids []uint32
	// sealed reports whether the gateway has written them itself, for this tenant.
	sealed bool
}

// maxEmpty is the maximum number of a turn's messages that have no text, and are no calls.
const maxEmpty = 16

// writtenAs replaces the turn that ends now by the messages that ids say, if they say the same. loose is set for a Chat
// message, which has all reasoning and all text of a turn in one member each.
func (b *builder) writtenAs(ids turnIDs, loose bool) {
	w := &b.writing
	from := len(b.messages)
	for from > w.from && b.messages[from-1].Role == harmony.Assistant {
		from--
	}
	silent := w.silent
	w.from, w.silent = len(b.messages), 0
	if len(ids.ids) <= begun || len(ids.ids) > w.left {
		return
	}
	w.left -= len(ids.ids)
	s := spelling{ids: ids.ids, loose: loose, dropCommentary: b.dropCommentary}
	if ids.sealed {
		s.silent = silent
	}
	s.expect(b.messages[from:])
	s.reader = harmony.NewSampledReader(w.t, &s)
	if !s.reader.Read(ids.ids[begun:]) || !s.complete() {
		return
	}
	b.messages = append(b.messages[:from], s.messages...)
	w.from = len(b.messages)
}

// begun is the number of ids in <|start|>assistant.
const begun = 2

// begin returns the ids of a turn's beginning, <|start|>assistant, with room for n more.
func (w *writing) begin(n int) []uint32 {
	return w.t.AppendEncode(append(make([]uint32, 0, begun+n), tokenizer.Start), openai.RoleAssistant)
}

// begins reports whether ids begin with <|start|>assistant.
func (w *writing) begins(ids []uint32) bool {
	beginning := w.begin(0)
	return len(beginning) == begun && len(ids) > begun && ids[0] == beginning[0] && ids[1] == beginning[1]
}

// traced returns the ids of a turn that a client has sent back as it has got them (docs/token-ids.md).
func (w *writing) traced(t *openai.TokenIDs) turnIDs {
	n := t.Count()
	if n == 0 || n > w.left {
		return turnIDs{}
	}
	ids, ok := t.AppendMessages(make([]uint32, 0, n+harmony.MaxHeaderTokens), tokenizer.Start)
	if !ok || !w.begins(ids) {
		return turnIDs{}
	}
	return turnIDs{ids: ids}
}

// expected is a message of the client's in a turn. rest is what of its text the ids have not said yet.
type expected struct {
	message *harmony.Message
	rest    string
	said    bool
}

// spelling compares the messages of a turn with the ids of it. It is the sink of their reader.
type spelling struct {
	reader *harmony.SampledReader
	ids    []uint32
	// from is the index of the first id of the open message, or of the next.
	from     int
	expected []expected
	// next is the first message that may be said. With loose those after it may be, too.
	next  int
	loose bool
	// silent is how many messages of reasoning may say what they like, since the client cannot know their text.
	silent         int
	dropCommentary bool
	// empty is the number of messages without a text.
	empty int
	// different reports whether the ids say something else.
	different bool
	// header is that of the open message, and at its place in expected, or negative. text is the text of that place when
	// the message began. ignored reports whether the text does not count.
	header  harmony.Header
	at      int
	text    string
	ignored bool
	// messages are the result.
	messages []harmony.Message
}

func (s *spelling) expect(messages []harmony.Message) {
	s.expected = make([]expected, len(messages))
	s.messages = make([]harmony.Message, 0, len(messages)+1)
	for i := range messages {
		s.expected[i] = expected{message: &messages[i], rest: textOf(&messages[i])}
	}
}

// textOf returns the text of an assistant's message.
func textOf(m *harmony.Message) string {
	if len(m.Content) == 1 {
		return m.Content[0].Text
	}
	var b strings.Builder
	for i := range m.Content {
		b.WriteString(m.Content[i].Text)
	}
	return b.String()
}

// Open implements [harmony.Sink].
func (s *spelling) Open(h harmony.Header) {
	s.header, s.at, s.text, s.ignored = h, -1, "", false
	if h.Role != harmony.Assistant && h.Role != 0 || h.Name != "" {
		s.different = true
		return
	}
	if h.Recipient == "" && h.Channel == harmony.Commentary && s.dropCommentary {
		s.ignored = true
		return
	}
	for i := s.next; i < len(s.expected); i++ {
		if e := &s.expected[i]; s.matches(e.message, &h) && !(e.said && e.rest == "") {
			s.at, s.text = i, e.rest
			return
		}
		if !s.loose || h.Recipient != "" && s.expected[i].message.Recipient.Set && !s.expected[i].said {
			break // calls come in their order
		}
	}
	if s.silent > 0 && h.Recipient == "" && h.Channel == harmony.Analysis {
		s.silent--
		s.ignored = true
	}
}

// matches reports whether a message of the client's may have this header. In Chat an answer may have preambles.
func (s *spelling) matches(m *harmony.Message, h *harmony.Header) bool {
	if m.Recipient.Value != h.Recipient {
		return false
	}
	return m.Channel.Value == h.Channel ||
		s.loose && h.Recipient == "" && m.Channel.Value == harmony.Final && h.Channel == harmony.Commentary
}

// Content implements [harmony.Sink].
func (s *spelling) Content(text []byte, _ int) {
	if s.different || s.ignored || len(text) == 0 {
		return
	}
	if s.at < 0 || !strings.HasPrefix(s.expected[s.at].rest, rawjson.View(text)) {
		s.different = true
		return
	}
	s.expected[s.at].rest = s.expected[s.at].rest[len(text):]
}

// Close implements [harmony.Sink].
func (s *spelling) Close(end harmony.End) {
	to := begun + s.reader.At() + 1
	ids := s.ids[s.from:to]
	s.from = to
	if s.different || s.ignored && s.header.Channel == harmony.Commentary {
		return
	}
	said := ""
	if s.at >= 0 {
		said = s.text[:len(s.text)-len(s.expected[s.at].rest)]
	}
	switch {
	case s.ignored:
	case said == "" && s.header.Recipient == "" || s.at < 0:
		// Nothing was said: the client has no such item, or keeps it without a text. A call that it does not know of is
		// one that it did not get, at the end.
		if end == harmony.Cut {
			return
		}
		s.empty++
		s.different = s.header.Recipient != "" || s.empty > maxEmpty
	default:
		e := &s.expected[s.at]
		e.said = true
		s.different = e.rest != "" && (!s.loose || s.header.Recipient != "")
		if !s.loose {
			s.next = s.at + 1
		}
	}
	s.messages = append(s.messages, harmony.Message{
		Role: harmony.Assistant, Recipient: optional(s.header.Recipient), Channel: optional(s.header.Channel),
		ContentType: optional(s.header.ContentType), Content: harmony.Text(said), RecipientLast: true, Sampled: ids,
	})
}

// complete reports whether the ids have said all that the client has sent, and nothing else.
func (s *spelling) complete() bool {
	for i := range s.expected {
		if !s.expected[i].said || s.expected[i].rest != "" {
			return false
		}
	}
	return !s.different && len(s.messages) > 0
}
