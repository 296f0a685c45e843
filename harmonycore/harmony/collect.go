package harmony

import "github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"

// Collect parses a whole stream of token ids with a [StreamParser]. It returns the messages and the counts of the
// repairs. It never fails. It reads a stream that begins with <|start|> as a conversation, as [NewTranscriptParser]
// does, and any other stream as a completion. If the stream is cut off, the last message holds what came of it. A
// content type is a word such as "json"; the control token that may precede it is left out.
func Collect(t *tokenizer.Tokenizer, ids []uint32) ([]Message, Recoveries) {
	var c Collector
	p := NewStreamParser(t, &c)
	if len(ids) > 0 && ids[0] == tokenizer.Start {
		p = NewTranscriptParser(t, &c)
	}
	for _, id := range ids {
		p.Process(id)
	}
	p.Finish()
	return c.Messages(), p.Recoveries()
}

// Collector is a [Sink] that keeps the messages of a stream. The zero Collector is ready to use.
type Collector struct {
	messages []Message
	// text is the content of the open message.
	text []byte
}

// Messages returns the messages so far, in their order. A message gets its content when it closes.
func (c *Collector) Messages() []Message { return c.messages }

// Open implements [Sink].
func (c *Collector) Open(h Header) {
	role := h.Role
	if role == 0 {
		role = Assistant
	}
	c.messages = append(c.messages, Message{
		Role: role, Name: optional(h.Name), Recipient: optional(h.Recipient), Channel: optional(h.Channel),
		ContentType: optional(h.ContentType),
	})
	c.text = c.text[:0]
}

// Content implements [Sink].
func (c *Collector) Content(text []byte, _ int) { c.text = append(c.text, text...) }

// Close implements [Sink].
func (c *Collector) Close(End) {
	if n := len(c.messages); n > 0 {
		c.messages[n-1].Content = Text(string(c.text))
	}
}
