package promptrules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// message is a message of a prompt.
type message struct {
	// author is the role's word with a name behind it, or a tool's name.
	author, channel, recipient, contentType string
	// recipientLast reports whether the recipient stands after the channel.
	recipientLast bool
	// marked reports whether <|constrain|> stands before the content type.
	marked  bool
	content []uint32
	// end is the id that ends the message, 0 for a message that the model continues.
	end uint32
}

func (m *message) text() string { return o200k.Tokenizer().DecodeString(m.content) }

func (m *message) setText(text string) { m.content = o200k.Tokenizer().AppendEncode(nil, text) }

func (m *message) equal(other *message) bool {
	return m.author == other.author && m.channel == other.channel && m.recipient == other.recipient &&
		m.contentType == other.contentType && m.recipientLast == other.recipientLast && m.marked == other.marked &&
		m.end == other.end && slices.Equal(m.content, other.content)
}

// isTool reports whether the message is a tool's result.
func (m *message) isTool() bool {
	role, _, _ := strings.Cut(m.author, ":")
	return !slices.Contains([]string{"system", "developer", "user", "assistant"}, role)
}

// isCall reports whether the message is a call of the past.
func (m *message) isCall() bool { return m.author == "assistant" && m.recipient != "" }

// isPreamble reports whether the message is text beside calls.
func (m *message) isPreamble() bool {
	return m.author == "assistant" && m.channel == "commentary" && m.recipient == ""
}

func (m *message) isReasoning() bool {
	return m.author == "assistant" && m.channel == "analysis" && m.recipient == ""
}

// header returns what stands between <|start|> and <|message|>.
func (m *message) header() string {
	to, channel, typ := "", "", ""
	if m.recipient != "" {
		to = " to=" + m.recipient
	}
	if m.channel != "" {
		channel = "<|channel|>" + m.channel
	}
	if m.contentType != "" {
		typ = " " + m.contentType
	}
	if m.marked {
		typ = " <|constrain|>" + m.contentType
	}
	if m.recipientLast {
		return m.author + channel + to + typ
	}
	return m.author + to + channel + typ
}

// read reads the messages of a prompt. Its texts hold no control tokens, so <|start|> begins a message.
func read(ids []uint32) ([]message, error) {
	var out []message
	for len(ids) > 0 {
		if ids[0] != tokenizer.Start {
			return nil, fmt.Errorf("id %d instead of <|start|>", ids[0])
		}
		end := len(ids)
		if next := slices.Index(ids[1:], tokenizer.Start); next >= 0 {
			end = next + 1
		}
		m, err := readOne(ids[1:end])
		if err != nil {
			return nil, err
		}
		out = append(out, m)
		ids = ids[end:]
	}
	return out, nil
}

func readOne(ids []uint32) (m message, err error) {
	header, at := ids, slices.Index(ids, tokenizer.Message)
	if at >= 0 {
		header, m.content = ids[:at], ids[at+1:]
		if last := ids[len(ids)-1]; tokenizer.IsSpecial(last) && len(m.content) > 0 {
			m.content, m.end = m.content[:len(m.content)-1], last
		}
	}
	before, after, hasChannel := strings.Cut(o200k.Tokenizer().DecodeString(header), "<|channel|>")
	after = strings.Replace(after, "<|constrain|>", "\x00", 1)
	words := strings.Fields(before + " " + after)
	if len(words) == 0 {
		return m, fmt.Errorf("a header without a role: %v", ids)
	}
	m.author = words[0]
	for i, word := range words[1:] {
		to, isRecipient := strings.CutPrefix(word, "to=")
		typ, isMarked := strings.CutPrefix(word, "\x00")
		switch {
		case isRecipient:
			m.recipient, m.recipientLast = to, len(strings.Fields(before)) <= i+1
		case hasChannel && m.channel == "":
			m.channel = word
		default:
			m.contentType, m.marked = typ, isMarked
		}
	}
	if got := m.header(); got != o200k.Tokenizer().DecodeString(header) {
		return m, fmt.Errorf("the header %q was read as %q", o200k.Tokenizer().DecodeString(header), got)
	}
	return m, nil
}
