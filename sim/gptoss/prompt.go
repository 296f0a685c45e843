package gptoss

import (
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Message is one message of a prompt, or the header at which the answer continues.
type Message struct {
	role      string // system, developer, user, assistant, tool
	name      string // of a tool, or after "assistant:"
	Recipient string
	Channel   string
	ctype     string
	text      string
}

// prompt is the input of the model.
type prompt struct {
	messages []Message
	// prefill is the open assistant message that ends the prompt: only its role, or a header, or also content.
	prefill     Message
	prefillBody bool // <|message|> is already in the prompt
	tokens      int
	// Declared are the functions, if the request declares them beside the prompt.
	Declared []Tool
	// limits are the forms of functions' arguments in a structural tag, by the functions' names.
	limits map[string]*Tag
}

// ReadPrompt reads ids as a Harmony conversation that ends in an open assistant message. It is deliberately a small
// reader of its own: START header MESSAGE content (END | CALL | RETURN), and no other special token anywhere.
func ReadPrompt(t *tokenizer.Tokenizer, ids []uint32) (*prompt, error) {
	p := &prompt{tokens: len(ids)}
	for i := 0; i < len(ids); {
		if ids[i] != tokenizer.Start {
			return nil, fmt.Errorf("token %d at %d where <|start|> belongs", ids[i], i)
		}
		at := i
		i++
		header := i
		for i < len(ids) && (ids[i] == tokenizer.Channel || ids[i] == tokenizer.Constrain || !tokenizer.IsSpecial(ids[i])) {
			i++
		}
		m, err := ReadHeader(t, ids[header:i])
		if err != nil {
			return nil, fmt.Errorf("message at %d: %w", at, err)
		}
		if i == len(ids) {
			return p, p.open(m, false)
		}
		if ids[i] != tokenizer.Message {
			return nil, fmt.Errorf("token %d at %d in a header", ids[i], i)
		}
		i++
		content := i
		for i < len(ids) && !tokenizer.IsSpecial(ids[i]) {
			i++
		}
		m.text = t.DecodeString(ids[content:i])
		if i == len(ids) {
			return p, p.open(m, true)
		}
		switch ids[i] {
		case tokenizer.End, tokenizer.Call, tokenizer.Return:
		default:
			return nil, fmt.Errorf("token %d at %d in the content of a message", ids[i], i)
		}
		i++
		p.messages = append(p.messages, m)
	}
	return nil, fmt.Errorf("the prompt does not end in <|start|>assistant")
}

func (p *prompt) open(m Message, body bool) error {
	if m.role != "assistant" {
		return fmt.Errorf("the prompt ends in an open message of %s, not of the assistant", m.role)
	}
	if len(p.messages) == 0 {
		return fmt.Errorf("the prompt has no message before <|start|>assistant")
	}
	p.prefill, p.prefillBody = m, body
	return nil
}

// ReadHeader reads "role to=recipient <|channel|>channel to=recipient <|constrain|>type", with the recipient and the
// type in either section.
func ReadHeader(t *tokenizer.Tokenizer, ids []uint32) (Message, error) {
	var m Message
	section, constrained := 0, false
	for start := 0; ; {
		end := start
		for end < len(ids) && !tokenizer.IsSpecial(ids[end]) {
			end++
		}
		words := strings.Fields(t.DecodeString(ids[start:end]))
		if constrained {
			if len(words) == 0 {
				return m, fmt.Errorf("<|constrain|> without a type")
			}
			m.ctype, words, constrained = "<|constrain|>"+words[0], words[1:], false
		} else if section == 0 {
			if len(words) == 0 {
				return m, fmt.Errorf("a header without a role")
			}
			m.setAuthor(words[0])
			words = words[1:]
		} else {
			if len(words) == 0 {
				return m, fmt.Errorf("<|channel|> without a channel")
			}
			m.Channel, words = words[0], words[1:]
		}
		for _, w := range words {
			to, isRecipient := strings.CutPrefix(w, "to=")
			switch {
			case isRecipient && m.Recipient == "":
				m.Recipient = to
			case !isRecipient && m.ctype == "":
				m.ctype = w
			default:
				return m, fmt.Errorf("unexpected %q in a header", w)
			}
		}
		if end == len(ids) {
			return m, nil
		}
		if ids[end] == tokenizer.Channel {
			if section++; section > 1 {
				return m, fmt.Errorf("a second <|channel|> in a header")
			}
		} else {
			if m.ctype != "" {
				return m, fmt.Errorf("a second type in a header")
			}
			constrained = true
		}
		start = end + 1
	}
}

func (m *Message) setAuthor(word string) {
	role, name, _ := strings.Cut(word, ":")
	switch role {
	case "system", "developer", "user", "assistant", "tool":
		m.role, m.name = role, name
	default:
		m.role, m.name = "tool", word
	}
}

// last returns the last message of a role.
func (p *prompt) last(role string) (Message, bool) {
	for i := len(p.messages) - 1; i >= 0; i-- {
		if p.messages[i].role == role {
			return p.messages[i], true
		}
	}
	return Message{}, false
}

// latest returns the last message, or an empty one.
func (p *prompt) latest() Message {
	if len(p.messages) == 0 {
		return Message{}
	}
	return p.messages[len(p.messages)-1]
}

// effort returns the reasoning effort in the system message.
func (p *prompt) effort() string {
	if m, ok := p.last("system"); ok {
		for _, line := range strings.Split(m.text, "\n") {
			if e, ok := strings.CutPrefix(line, "Reasoning: "); ok {
				return strings.TrimSpace(e)
			}
		}
	}
	return "medium"
}

// tools returns the functions that the developer message declares.
func (p *prompt) tools() []Tool {
	all := slices.Clone(p.Declared)
	for _, m := range p.messages {
		if m.role == "developer" || m.role == "system" {
			all = append(all, readTools(m.text)...)
		}
	}
	for i := range all {
		if limit := p.limits[all[i].Name]; limit != nil {
			all[i].Schema, all[i].pattern, all[i].grammar = limit.Schema, limit.Pattern, limit.grammar
		}
	}
	return all
}
