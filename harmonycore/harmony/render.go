package harmony

import (
	"math"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// AnalysisPolicy decides which messages of past reasoning a rendered conversation leaves out.
type AnalysisPolicy uint8

const (
	// KeepAnalysis leaves nothing out.
	KeepAnalysis AnalysisPolicy = iota
	// DropReference is the reference's auto_drop_analysis: if the last assistant message is final, it drops analysis
	// before the first final message.
	DropReference
	// DropBeforeLastFinal drops all analysis before the assistant's last final message, as inference servers do. It keeps
	// later analysis: the model needs its reasoning until a turn's tool calls are done.
	DropBeforeLastFinal
)

// Renderer turns conversations into token ids. It is safe for concurrent use.
type Renderer struct {
	t *tokenizer.Tokenizer
	// words are the fragments that nearly every header consists of, encoded once.
	words [len(headerWords)]headerWord
}

type headerWord struct {
	text string
	ids  []uint32
}

var headerWords = [...]string{"assistant", Final, Analysis, Commentary, "user", " json", " ", "json", "system",
	"developer"}

// NewRenderer returns a [Renderer] that encodes text with t.
func NewRenderer(t *tokenizer.Tokenizer) *Renderer {
	r := &Renderer{t: t}
	for i, word := range headerWords {
		r.words[i] = headerWord{word, t.AppendEncode(nil, word)}
	}
	return r
}

// AppendCompletion appends the conversation and the beginning of a message by next, which the model completes.
func (r *Renderer) AppendCompletion(dst []uint32, c *Conversation, next Role, p AnalysisPolicy) ([]uint32, error) {
	if next.String() == "" {
		return dst, &RenderError{Kind: UnknownRole, Message: "unknown role"}
	}
	out, err := r.AppendConversation(dst, c, p)
	if err != nil {
		return dst, err
	}
	return r.AppendHeader(out, next), nil
}

// AppendHeader appends the beginning of a message by next, as [Renderer.AppendCompletion] does.
func (r *Renderer) AppendHeader(dst []uint32, next Role) []uint32 {
	return r.t.AppendEncode(append(dst, tokenizer.Start), next.String())
}

// AppendCallHeader appends the header of a call of recipient as the model itself writes it after <|start|>assistant.
// The completion then continues with the call's input: JSON, or text if plain is set.
func (r *Renderer) AppendCallHeader(dst []uint32, recipient string, plain bool) []uint32 {
	dst = append(dst, tokenizer.Channel)
	if plain {
		return append(r.t.AppendEncode(dst, Commentary+" "+recipientMark+recipient), tokenizer.Message)
	}
	dst = r.t.AppendEncode(dst, Commentary+" "+recipientMark+recipient+" ")
	return append(r.t.AppendEncode(append(dst, tokenizer.Constrain), "json"), tokenizer.Message)
}

// AppendTraining appends the conversation as a training example: if the last message is the assistant's final one, it
// ends with <|return|>.
func (r *Renderer) AppendTraining(dst []uint32, c *Conversation, p AnalysisPolicy) ([]uint32, error) {
	out, err := r.AppendConversation(dst, c, p)
	if err != nil {
		return dst, err
	}
	if n := len(c.Messages); n > 0 && len(out) > len(dst) {
		if last := &c.Messages[n-1]; last.Role == Assistant && last.onChannel(Final) {
			out[len(out)-1] = tokenizer.Return
		}
	}
	return out, nil
}

// AppendConversation appends the messages that p keeps. On an error it returns dst unchanged.
func (r *Renderer) AppendConversation(dst []uint32, c *Conversation, p AnalysisPolicy) ([]uint32, error) {
	g := r.Begin(c, p)
	defer g.End()
	out, _, err := g.Append(dst, 0, len(c.Messages), math.MaxInt)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// AppendMessage appends one message alone, as in a conversation without function tools.
func (r *Renderer) AppendMessage(dst []uint32, m *Message) ([]uint32, error) {
	w := messageWriter{r: r, e: r.t.Borrow(), limit: math.MaxInt}
	defer r.t.Return(w.e)
	out, err := w.message(dst, m)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// ToolTokens returns how many of ids, as r rendered them, belong to messages of tools, their headers included.
func (r *Renderer) ToolTokens(ids []uint32) int {
	n, tool := 0, -1 // where the open message of a tool begins
	for i, id := range ids {
		if id != tokenizer.Start {
			continue
		}
		if tool >= 0 {
			n += i - tool
		}
		if tool = -1; i+1 < len(ids) && !r.startsWithRole(ids[i+1]) {
			tool = i
		}
	}
	if tool >= 0 {
		n += len(ids) - tool
	}
	return n
}

// RoleID returns the first token of a role in the header of a message.
func (r *Renderer) RoleID(role Role) uint32 {
	for i := range r.words {
		if w := &r.words[i]; len(w.ids) > 0 && RoleOf(w.text) == role {
			return w.ids[0]
		}
	}
	return tokenizer.Start // which no role begins with
}

// startsWithRole reports whether id begins a role. A tool's name begins otherwise, with its namespace.
func (r *Renderer) startsWithRole(id uint32) bool {
	for i := range r.words {
		if w := &r.words[i]; RoleOf(w.text) != 0 && len(w.ids) > 0 && w.ids[0] == id {
			return true
		}
	}
	return false
}

func (m *Message) onChannel(name string) bool { return m.Channel.Set && m.Channel.Value == name }

// analysisDroppedBefore returns the index before which p drops analysis messages.
func (c *Conversation) analysisDroppedBefore(p AnalysisPolicy) int {
	switch p {
	case DropReference:
		lastIsFinal := false
		for i := range c.Messages {
			if m := &c.Messages[i]; m.Role == Assistant {
				lastIsFinal = m.onChannel(Final)
			}
		}
		if !lastIsFinal {
			return 0
		}
		for i := range c.Messages {
			if c.Messages[i].onChannel(Final) {
				return i
			}
		}
	case DropBeforeLastFinal:
		for i := len(c.Messages) - 1; i >= 0; i-- {
			if m := &c.Messages[i]; m.Role == Assistant && m.onChannel(Final) {
				return i
			}
		}
	}
	return 0
}

// hasFunctionTools reports whether developer content declares functions. It compares the key of the namespace, not its
// name, and ignores system content (docs/harmony-format.md#system-content).
func (c *Conversation) hasFunctionTools() bool {
	for i := range c.Messages {
		for j := range c.Messages[i].Content {
			d := c.Messages[i].Content[j].Developer
			if d == nil {
				continue
			}
			if d.Section.Rendered() {
				return true
			}
			for k := range d.Tools {
				if d.Tools[k].Key == functionsNamespace && len(d.Tools[k].Tools) > 0 {
					return true
				}
			}
		}
	}
	return false
}

// messageWriter appends messages and reuses one encoder and one buffer for all of them.
type messageWriter struct {
	r *Renderer
	e *tokenizer.Encoder
	// hasFunctions reports whether the conversation has function tools.
	hasFunctions bool
	text         []byte
	// limit is the greatest length of the output, in tokens. full reports whether the output would exceed it; the output
	// is then useless.
	limit    int
	exceeded bool
}

// encode encodes one fragment alone: byte pairs never merge across the border of a fragment
// (docs/harmony-format.md#two-ways-to-encode).
func (w *messageWriter) encode(dst []uint32, fragment string) []uint32 {
	if w.exceeded || len(dst) > w.limit {
		w.exceeded = true
		return dst
	}
	dst, ok := w.e.AppendWithin(dst, w.r.t, fragment, w.limit-len(dst))
	w.exceeded = !ok
	return dst
}

// word encodes text that stands in a header. It takes the ids of a frequent word from [Renderer.words].
func (w *messageWriter) word(dst []uint32, text string) []uint32 {
	for i := range w.r.words {
		if known := &w.r.words[i]; known.text == text {
			return append(dst, known.ids...)
		}
	}
	return w.encode(dst, text)
}

func (w *messageWriter) message(dst []uint32, m *Message) ([]uint32, error) {
	if len(m.Sampled) > 0 {
		return w.sampled(dst, m)
	}
	dst = append(dst, tokenizer.Start)
	switch {
	case m.Role == Tool && !m.Name.Set:
		return nil, &RenderError{Kind: UnnamedTool, Message: "Tools should have a name!"}
	case m.Role == Tool:
		dst = w.encode(dst, m.Name.Value)
	case m.Role.String() == "":
		return nil, &RenderError{Kind: UnknownRole, Message: "unknown role"}
	default:
		dst = w.word(dst, m.Role.String())
		if m.Name.Set {
			dst = w.encode(dst, nameMark+m.Name.Value)
		}
	}
	if !m.RecipientLast {
		dst = w.recipient(dst, m)
	}
	if m.Channel.Set {
		dst = w.word(append(dst, tokenizer.Channel), m.Channel.Value)
	}
	if m.RecipientLast {
		dst = w.recipient(dst, m)
	}
	if m.ContentType.Set {
		if rest, ok := strings.CutPrefix(m.ContentType.Value, constrainSpelling); ok {
			dst = append(w.word(dst, " "), tokenizer.Constrain)
			dst = w.word(dst, rest)
		} else {
			dst = w.word(dst, " "+m.ContentType.Value)
		}
	}
	return w.body(append(dst, tokenizer.Message), m)
}

// body appends the content and the end of a message.
func (w *messageWriter) body(dst []uint32, m *Message) ([]uint32, error) {
	for i := range m.Content {
		if d := m.Content[i].Developer; d != nil && d.Section != nil && m.Role == Developer {
			var err error
			if dst, err = w.sectioned(dst, d); err != nil {
				return nil, err
			}
			continue
		}
		text, err := w.content(m.Role, &m.Content[i])
		if err != nil {
			return nil, err
		}
		if dst = w.encode(dst, text); w.exceeded {
			break
		}
	}
	return append(dst, m.end()), nil
}

// sectioned appends developer content whose tools keep their ids. The instructions before them end with line ends, over
// which no piece of the text reaches that goes on with a number sign (docs/harmony-format.md#splitting-into-pieces). So
// both have the ids that they have together.
func (w *messageWriter) sectioned(dst []uint32, c *DeveloperContent) ([]uint32, error) {
	s := sections{dst: w.text[:0]}
	if c.Instructions.Set {
		s.instructions(c)
		s.next()
	}
	w.text = s.dst
	dst = w.encode(dst, rawjson.View(s.dst))
	if c.Section.Rendered() {
		if w.exceeded || len(c.Section.ids) > w.limit-len(dst) {
			w.exceeded = true
			return dst, nil
		}
		return append(dst, c.Section.ids...), nil
	}
	s = sections{dst: w.text[:0]}
	err := s.tools(c.Tools)
	if w.text = s.dst; err != nil {
		return nil, err
	}
	from := len(dst)
	if dst = w.encode(dst, rawjson.View(s.dst)); !w.exceeded {
		c.Section.ids = slices.Clone(dst[from:])
	}
	return dst, nil
}

// end returns the id that ends the message in a history.
func (m *Message) end() uint32 {
	if m.Role == Assistant && m.Recipient.Set {
		return tokenizer.Call
	}
	return tokenizer.End
}

func (w *messageWriter) recipient(dst []uint32, m *Message) []uint32 {
	if !m.Recipient.Set || m.Recipient.Value == everyone {
		return dst
	}
	return w.encode(dst, " "+recipientMark+m.Recipient.Value)
}

// content returns the text of a content. The text is valid until the next call.
func (w *messageWriter) content(role Role, c *Content) (string, error) {
	switch {
	case c.System != nil && role != System:
		return "", misplaced("SystemContent may only appear in system messages, found in ", role)
	case c.Developer != nil && role != Developer:
		return "", misplaced("DeveloperContent may only appear in developer messages, found in ", role)
	case c.System != nil:
		text, err := appendSystem(w.text[:0], c.System, w.hasFunctions)
		w.text = text
		return rawjson.View(text), err
	case c.Developer != nil:
		text, err := appendDeveloper(w.text[:0], c.Developer)
		w.text = text
		return rawjson.View(text), err
	}
	return c.Text, nil
}

func misplaced(text string, role Role) error {
	return &RenderError{Kind: MisplacedContent, Message: text + role.name()}
}
