package gptoss

import (
	"fmt"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// answer returns the built-in model's answer to a prompt. It is always the same for the same prompt. The fragments are
// encoded one at a time. Text that is repeated from the prompt is ordinary text, whatever it spells.
func answer(t *tokenizer.Tokenizer, p *prompt) []uint32 {
	a := &Writer{Tokenizer: t}
	user, _ := p.last("user")
	latest := p.latest()
	call, calls := Tool{}, false
	if latest.role == "user" {
		call, calls = chooseTool(p.tools(), user.text)
	}

	pre := p.prefill
	if name, ok := strings.CutPrefix(pre.Recipient, "functions."); ok {
		call, calls = Tool{Name: name}, true
		for _, declared := range p.tools() {
			if declared.Name == name {
				call = declared
			}
		}
	}
	started := pre.Channel != "" || pre.Recipient != "" || p.prefillBody
	if started {
		// The prompt has already begun the first message. Continue from there.
		if !p.prefillBody {
			if pre.Channel == "" {
				a.Special(tokenizer.Channel)
				a.Text("commentary")
			}
			a.Special(tokenizer.Message)
		}
		switch {
		case pre.Recipient != "":
			a.Text(arguments(call, user.text))
			a.Special(tokenizer.Call)
			return a.IDs
		case pre.Channel == "final" || pre.Channel == "":
			a.Text(final(p, user, latest))
			a.Special(tokenizer.Return)
			return a.IDs
		case pre.Channel == "commentary":
			a.Text("One moment.")
		default:
			a.Text(analysis(p, latest, call, calls))
		}
		a.next()
	} else {
		a = newWriter(t, p, latest, call, calls)
	}
	if calls {
		a.call(call, arguments(call, user.text))
		return a.IDs
	}
	a.Text("final")
	a.Special(tokenizer.Message)
	a.Text(final(p, user, latest))
	a.Special(tokenizer.Return)
	return a.IDs
}

// newWriter returns a speaker that has reasoned about the latest message, and is in the header of the next message.
func newWriter(t *tokenizer.Tokenizer, p *prompt, latest Message, call Tool, calls bool) *Writer {
	a := &Writer{Tokenizer: t}
	a.Special(tokenizer.Channel)
	a.Text("analysis")
	a.Special(tokenizer.Message)
	a.Text(analysis(p, latest, call, calls))
	a.next()
	return a
}

// Writer writes messages in tokens of a vocabulary. IDs are what it has written.
type Writer struct {
	Tokenizer *tokenizer.Tokenizer
	IDs       []uint32
}

// Special writes control tokens.
func (a *Writer) Special(ids ...uint32) { a.IDs = append(a.IDs, ids...) }

// Text writes a text as ordinary tokens, whatever it spells.
func (a *Writer) Text(s string) { a.IDs = a.Tokenizer.AppendEncode(a.IDs, s) }

// Open begins a message, header and text.
func (a *Writer) Open(role, text string, channel ...string) {
	a.Special(tokenizer.Start)
	a.Text(role)
	for _, c := range channel {
		a.Special(tokenizer.Channel)
		a.Text(c)
	}
	a.Special(tokenizer.Message)
	a.Text(text)
}

// Message writes a whole message.
func (a *Writer) Message(role, text string, channel ...string) {
	a.Open(role, text, channel...)
	a.Special(tokenizer.End)
}

// next ends a message and begins the next one, up to its channel.
func (a *Writer) next() {
	a.Special(tokenizer.End, tokenizer.Start)
	a.Text("assistant")
	a.Special(tokenizer.Channel)
}

// call writes a call of a tool, from the channel on.
func (a *Writer) call(t Tool, arguments string) {
	a.Text("commentary")
	a.Text(" to=functions." + t.Name)
	if !t.plain() {
		a.Text(" ")
		a.Special(tokenizer.Constrain)
		a.Text("json")
	}
	a.Special(tokenizer.Message)
	a.Text(arguments)
	a.Special(tokenizer.Call)
}

// analysis returns reasoning that is longer for a higher effort.
func analysis(p *prompt, latest Message, call Tool, calls bool) string {
	text := []string{"The user wants an answer."}
	switch {
	case calls:
		text[0] = "The function " + call.Name + " fits, so I call it."
	case latest.role == "tool":
		text[0] = "The tool " + latest.name + " has answered, so I use its result."
	}
	more := []string{
		fmt.Sprintf("The conversation has %d messages in %d tokens.", len(p.messages), p.tokens),
		fmt.Sprintf("%d functions are declared.", len(p.tools())),
		"Let me check the request once more.",
		"Nothing in it needs a second opinion.",
		"I keep the answer short.",
		"Now I am ready.",
	}
	n := 2
	switch p.effort() {
	case "low":
		n = 0
	case "high":
		n = len(more)
	}
	return strings.Join(append(text, more[:n]...), " ")
}

func final(p *prompt, user, latest Message) string {
	if latest.role == "tool" {
		return fmt.Sprintf("The tool %s answered: %s. I read %d tokens.", latest.name, clip(latest.text), p.tokens)
	}
	return fmt.Sprintf("You said: %s. I read %d tokens.", clip(user.text), p.tokens)
}

// clip bounds the part of a long text that is repeated.
func clip(s string) string {
	const maxBytes = 400
	if r := []rune(s); len(r) > maxBytes {
		return string(r[:maxBytes]) + "…"
	}
	return s
}

// Ends are the stop tokens of gpt-oss's generation_config. The first is the tokenizer's own end: it is tested first and
// reported without a stop_reason.
var Ends = []uint32{tokenizer.Return, tokenizer.EndOfText, tokenizer.Call}
