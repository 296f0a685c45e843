package chatserver

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Messages writes the messages of a request.
type Messages struct {
	list
	History History
}

// History is where the reasoning of earlier turns stands in the assistant's messages.
type History struct {
	// Reasoning and ReasoningContent are members of these names.
	Reasoning, ReasoningContent bool
	// Tags is <think> and </think> in the content. InOrder puts them where the model has reasoned, and not all before the
	// text, where most templates look for them.
	Tags, InOrder bool
}

// HistoryOf returns the history of a model's settings.
func HistoryOf(c *contract.ChatServers) History {
	switch c.ReasoningHistory {
	case contract.ReasoningOnly:
		return History{Reasoning: true}
	case contract.ReasoningBoth:
		return History{Reasoning: true, ReasoningContent: true}
	case contract.ReasoningThinkTags:
		return History{Tags: true, InOrder: c.ThinkTags == contract.ThinkAnywhere}
	case contract.ReasoningNone:
		return History{}
	default:
		return History{ReasoningContent: true}
	}
}

func (h History) none() bool { return !h.Reasoning && !h.ReasoningContent && !h.Tags }

// AppendInstructions appends a message of the system or the developer. Its texts were messages of their own.
func (m *Messages) AppendInstructions(dst []byte, role string, texts []string) []byte {
	dst = m.open(dst, role)
	return append(appendText(append(dst, `,"content":`...), texts, betweenItems), '}')
}

// AppendUser appends a user's message.
func (m *Messages) AppendUser(dst []byte, c Content) []byte {
	dst = m.open(dst, openai.RoleUser)
	return append(c.append(dst), '}')
}

// AppendResult appends the result of a call.
func (m *Messages) AppendResult(dst []byte, callID string, c Content) []byte {
	dst = m.open(dst, openai.RoleTool)
	dst = appendMember(dst, `,"tool_call_id":`, callID)
	return append(c.append(dst), '}')
}

func (m *Messages) open(dst []byte, role string) []byte {
	dst = append(m.next(dst), '{')
	return appendMember(dst, `"role":`, role)
}

// Content is the content of a user's message or of a result. Where Media has a part, Parts has an empty text.
type Content struct {
	Parts []string
	Media []openai.Media
}

// append appends the content: texts alone as one, since there are servers that take only a string.
func (c *Content) append(dst []byte) []byte {
	dst = append(dst, `,"content":`...)
	if len(c.Media) == 0 {
		return appendText(dst, c.Parts, betweenParts)
	}
	var l list
	dst = append(dst, '[')
	media := c.Media
	for i, text := range c.Parts {
		switch {
		case len(media) > 0 && media[0].Part == i:
			dst = media[0].AppendJSON(l.next(dst))
			media = media[1:]
		case text != "":
			dst = append(appendMember(l.next(dst), `{"type":"text","text":`, text), '}')
		}
	}
	return append(dst, ']')
}

// Turn is what the assistant wrote between two messages of others: one message, because templates and servers expect
// calls in the message that precedes their results.
type Turn struct {
	pieces []piece
	calls  []Call
	// spoken reports whether there was a message of text, even if it is empty. texts and reasonings report whether there
	// is text in pieces.
	spoken, texts, reasonings bool
	ids                       *openai.TokenIDs
}

// piece is a text or reasoning. separator goes before it.
type piece struct {
	text, separator string
	reasoning       bool
}

// Text adds a message's text.
func (t *Turn) Text(parts []string) {
	t.spoken = true
	t.texts = t.add(parts, false) || t.texts
}

// Reasoning adds reasoning.
func (t *Turn) Reasoning(parts []string) { t.reasonings = t.add(parts, true) || t.reasonings }

func (t *Turn) add(parts []string, reasoning bool) (some bool) {
	separator := betweenItems
	for _, p := range parts {
		if p != "" {
			t.pieces = append(t.pieces, piece{p, separator, reasoning})
			separator, some = "", true
		}
	}
	return some
}

// TokenIDs sets what the turn was made of.
func (t *Turn) TokenIDs(ids *openai.TokenIDs) { t.ids = ids }

// Call adds a call.
func (t *Turn) Call(c Call) { t.calls = append(t.calls, c) }

// AppendTurn appends the turn's message, if there is anything in it, and empties the turn.
func (m *Messages) AppendTurn(dst []byte, t *Turn) []byte {
	reasoned := t.reasonings && !m.History.none()
	if t.spoken || reasoned || len(t.calls) > 0 {
		dst = m.open(dst, openai.RoleAssistant)
		dst = m.appendContent(append(dst, `,"content":`...), t)
		if t.reasonings && m.History.ReasoningContent {
			dst = append(t.append(append(dst, `,"reasoning_content":"`...), true), '"')
		}
		if t.reasonings && m.History.Reasoning {
			dst = append(t.append(append(dst, `,"reasoning":"`...), true), '"')
		}
		dst = append(t.ids.AppendMembers(appendCalls(dst, t.calls)), '}')
	}
	clear(t.pieces)
	clear(t.calls)
	*t = Turn{pieces: t.pieces[:0], calls: t.calls[:0]}
	return dst
}

// appendContent appends the text. Without text it is null beside calls, as OpenAI's API has it.
func (m *Messages) appendContent(dst []byte, t *Turn) []byte {
	tagged := m.History.Tags && t.reasonings
	if !t.texts && !tagged && len(t.calls) > 0 {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	if tagged && m.History.InOrder {
		return append(t.appendInOrder(dst), '"')
	}
	if tagged {
		dst = append(t.append(append(dst, openThink...), true), closeThink...)
	}
	return append(t.append(dst, false), '"')
}

const openThink, closeThink = "<think>", "</think>"

// append appends the reasoning or the text as the inside of a JSON string.
func (t *Turn) append(dst []byte, reasoning bool) []byte {
	j := joined{dst: dst}
	for i := range t.pieces {
		if p := &t.pieces[i]; p.reasoning == reasoning {
			j.add(p.text, p.separator)
		}
	}
	return j.dst
}

// appendInOrder appends reasoning and text as they came.
func (t *Turn) appendInOrder(dst []byte) []byte {
	j := joined{dst: dst}
	thinking := false
	for i := range t.pieces {
		p := &t.pieces[i]
		if p.reasoning != thinking {
			thinking = p.reasoning
			if thinking {
				j.dst = append(j.dst, openThink...)
			} else {
				j.dst = append(j.dst, closeThink...)
			}
			j.begun = false
		}
		j.add(p.text, p.separator)
	}
	if thinking {
		j.dst = append(j.dst, closeThink...)
	}
	return j.dst
}
