package sim

import (
	"fmt"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// answer returns the built-in model's answer to a prompt. It is always the same for the same prompt. The fragments are
// encoded one at a time. Text that is repeated from the prompt is ordinary text, whatever it spells.
func answer(t *tokenizer.Tokenizer, p *prompt) []uint32 {
	a := &writer{t: t}
	user, _ := p.last("user")
	latest := p.latest()
	call, calls := tool{}, false
	if latest.role == "user" {
		call, calls = chooseTool(p.tools(), user.text)
	}

	pre := p.prefill
	if name, ok := strings.CutPrefix(pre.recipient, "functions."); ok {
		call, calls = tool{name: name}, true
		for _, declared := range p.tools() {
			if declared.name == name {
				call = declared
			}
		}
	}
	started := pre.channel != "" || pre.recipient != "" || p.prefillBody
	if started {
		// The prompt has already begun the first message. Continue from there.
		if !p.prefillBody {
			if pre.channel == "" {
				a.special(tokenizer.Channel)
				a.text("commentary")
			}
			a.special(tokenizer.Message)
		}
		switch {
		case pre.recipient != "":
			a.text(arguments(call, user.text))
			a.special(tokenizer.Call)
			return a.ids
		case pre.channel == "final" || pre.channel == "":
			a.text(final(p, user, latest))
			a.special(tokenizer.Return)
			return a.ids
		case pre.channel == "commentary":
			a.text("One moment.")
		default:
			a.text(analysis(p, latest, call, calls))
		}
		a.next()
	} else {
		a = newWriter(t, p, latest, call, calls)
	}
	if calls {
		a.call(call, arguments(call, user.text))
		return a.ids
	}
	a.text("final")
	a.special(tokenizer.Message)
	a.text(final(p, user, latest))
	a.special(tokenizer.Return)
	return a.ids
}

// newWriter returns a speaker that has reasoned about the latest message, and is in the header of the next message.
func newWriter(t *tokenizer.Tokenizer, p *prompt, latest message, call tool, calls bool) *writer {
	a := &writer{t: t}
	a.special(tokenizer.Channel)
	a.text("analysis")
	a.special(tokenizer.Message)
	a.text(analysis(p, latest, call, calls))
	a.next()
	return a
}

type writer struct {
	t   *tokenizer.Tokenizer
	ids []uint32
}

func (a *writer) special(ids ...uint32) { a.ids = append(a.ids, ids...) }
func (a *writer) text(s string)         { a.ids = a.t.AppendEncode(a.ids, s) }

// open begins a message, header and text.
func (a *writer) open(role, text string, channel ...string) {
	a.special(tokenizer.Start)
	a.text(role)
	for _, c := range channel {
		a.special(tokenizer.Channel)
		a.text(c)
	}
	a.special(tokenizer.Message)
	a.text(text)
}

// message writes a whole message.
func (a *writer) message(role, text string, channel ...string) {
	a.open(role, text, channel...)
	a.special(tokenizer.End)
}

// next ends a message and begins the next one, up to its channel.
func (a *writer) next() {
	a.special(tokenizer.End, tokenizer.Start)
	a.text("assistant")
	a.special(tokenizer.Channel)
}

// call writes a call of a tool, from the channel on.
func (a *writer) call(t tool, arguments string) {
	a.text("commentary")
	a.text(" to=functions." + t.name)
	if !t.plain() {
		a.text(" ")
		a.special(tokenizer.Constrain)
		a.text("json")
	}
	a.special(tokenizer.Message)
	a.text(arguments)
	a.special(tokenizer.Call)
}

// analysis returns reasoning that is longer for a higher effort.
func analysis(p *prompt, latest message, call tool, calls bool) string {
	text := []string{"The user wants an answer."}
	switch {
	case calls:
		text[0] = "The function " + call.name + " fits, so I call it."
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

func final(p *prompt, user, latest message) string {
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

// eos are the stop tokens of gpt-oss's generation_config. The first is the tokenizer's own end: it is tested first and
// reported without a stop_reason.
var eos = []uint32{tokenizer.Return, tokenizer.EndOfText, tokenizer.Call}
