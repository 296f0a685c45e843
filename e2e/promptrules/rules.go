package promptrules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// A rule is a way in which front ends differ.
type rule struct {
	// name says what the rule is about.
	name string
	// alike removes what the rule is about from a prompt: two prompts that differ by this rule alone are then equal. nil
	// is for a rule of refusals alone.
	alike func(c *testCase, p []message) []message
	// refusals are parts of the messages by which front ends refuse what the rule is about, in the cases that refusable
	// names by their beginning.
	refusals  []string
	refusable string
	// decided names the cases whose prompts decide the rule, one of an API, without it and with spaces between.
	decided string
	// says returns the cell of the table for a prompt of that case.
	says func(p []message) string
	// ofLibraries reports whether a renderer of Harmony decides the rule. What it does not decide is its caller's.
	ofLibraries bool
	// only is the one front end for which a rule is used that removes more than it is about, and only where the others do
	// not explain all.
	only string
}

// code formats a cell.
func code(text string) string { return "`" + strings.ReplaceAll(text, "|", `\|`) + "`" }

// filled formats a cell of a text that may be empty.
func filled(text string) string {
	if text == "" {
		return "stays empty"
	}
	return code(text)
}

// first returns the first message that is found.
func first(p []message, found func(m *message) bool) *message {
	if i := slices.IndexFunc(p, func(m message) bool { return found(&m) }); i >= 0 {
		return &p[i]
	}
	return &message{}
}

// each changes every message that is found.
func each(p []message, found func(m *message) bool, change func(m *message)) []message {
	for i := range p {
		if found(&p[i]) {
			change(&p[i])
		}
	}
	return p
}

func isAuthor(author string) func(m *message) bool {
	return func(m *message) bool { return m.author == author }
}

// change sets the message's text if f changes it.
func (m *message) change(f func(text string) string) {
	if text := m.text(); f(text) != text {
		m.setText(f(text))
	}
}

// sections cuts a developer message's text into its instructions, tools and response formats.
func sections(text string) (instructions, tools, formats string) {
	const toolsMark, formatsMark, instructionsMark = "# Tools\n\n", "# Response Formats\n\n", "# Instructions\n\n"
	if i := strings.Index(text, formatsMark); i == 0 || i > 1 && text[i-2:i] == "\n\n" {
		text, formats = text[:i], text[i:]
	}
	if i := strings.Index(text, toolsMark); i == 0 || i > 1 && text[i-2:i] == "\n\n" {
		text, tools = text[:i], text[i:]
	}
	if tools+formats != "" {
		text = strings.TrimSuffix(text, "\n\n")
	}
	return strings.TrimPrefix(text, instructionsMark), strings.TrimSuffix(tools, "\n\n"), formats
}

// developer returns the text of a developer message of these parts.
func developer(instructions, tools, formats string) string {
	if instructions != "" {
		instructions = "# Instructions\n\n" + instructions
	}
	return strings.Join(slices.DeleteFunc([]string{instructions, tools, formats}, func(s string) bool { return s == "" }),
		"\n\n")
}

// withoutEmpty removes developer messages that have lost their text.
func withoutEmpty(p []message) []message {
	return slices.DeleteFunc(p, func(m message) bool { return m.author == "developer" && len(m.content) == 0 })
}

const callsLine = "\nCalls to these tools must go to the commentary channel: 'functions'."

// oneDeveloper joins developer messages that follow one another.
func oneDeveloper(_ *testCase, p []message) []message {
	var out []message
	for _, m := range p {
		if m.author != "developer" || len(out) == 0 || out[len(out)-1].author != "developer" {
			out = append(out, m)
			continue
		}
		last := &out[len(out)-1]
		i1, t1, f1 := sections(last.text())
		i2, t2, f2 := sections(m.text())
		both := func(a, b string) string { return strings.Trim(a+"\n\n"+b, "\n") }
		last.setText(developer(both(i1, i2), both(t1, t2), both(f1, f2)))
	}
	return out
}

// reasoningFirst puts reasoning before the preamble that stands before it.
func reasoningFirst(_ *testCase, p []message) []message {
	for i := 1; i < len(p); i++ {
		if p[i].isReasoning() && p[i-1].isPreamble() {
			p[i], p[i-1] = p[i-1], p[i]
		}
	}
	return p
}

// asPreamble makes text before a call a preamble, and leaves the reasoning before it out.
func asPreamble(_ *testCase, p []message) []message {
	for i := 0; i+1 < len(p); i++ {
		if p[i].author == "assistant" && p[i].recipient == "" && p[i].channel != "analysis" && p[i+1].isCall() {
			p[i].channel = "commentary"
			if i > 0 && p[i-1].isReasoning() {
				p = slices.Delete(p, i-1, i)
			}
		}
	}
	return p
}

// kinds lists what the assistant's messages are, in order.
func kinds(p []message) string {
	var out []string
	for _, m := range p[:len(p)-1] {
		switch {
		case m.isReasoning():
			out = append(out, "reasoning")
		case m.isCall():
			out = append(out, "call")
		case m.author == "assistant":
			out = append(out, "text ("+m.channel+")")
		}
	}
	return strings.Join(out, ", ")
}

// plainExponents writes exponents without a plus sign and without leading zeros.
func plainExponents(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		out.WriteByte(text[i])
		if text[i] != 'e' || i == 0 || text[i-1] < '0' || text[i-1] > '9' || i+1 == len(text) {
			continue
		}
		rest := strings.TrimPrefix(text[i+1:], "+")
		if digits, negative := strings.CutPrefix(rest, "-"); negative && strings.HasPrefix(digits, "0") {
			rest = "-" + strings.TrimLeft(digits, "0")
		}
		return out.String() + plainExponents(rest)
	}
	return out.String()
}

func isSystem(m *message) bool { return m.author == "system" }

// shown reports whether a developer's message has a part.
func shown(p []message, mark string) string {
	for _, m := range p {
		if m.author == "developer" && strings.Contains(m.text(), mark) {
			return "shown"
		}
	}
	return "not shown"
}

func apart(p []message) string {
	m := first(p, isAuthor("user"))
	if slices.Equal(m.content, o200k.Tokenizer().AppendEncode(nil, m.text())) {
		return "joined"
	}
	return "apart"
}

func count(p []message, author string) int {
	n := 0
	for _, m := range p {
		if m.author == author {
			n++
		}
	}
	return n
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// between returns the text after a mark, up to the end of its line.
func between(text, mark string) string {
	_, after, _ := strings.Cut(text, mark)
	line, _, _ := strings.Cut(after, "\n")
	return line
}

// last returns the last message of an author.
func last(p []message, author string) *message {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].author == author {
			return &p[i]
		}
	}
	return &message{}
}

// firstInstructions leaves out all instructions but the first text.
func firstInstructions(c *testCase, p []message) []message {
	switch c.name {
	case "late_system", "late_developer":
		return slices.DeleteFunc(p, func(m message) bool { return m.author == "developer" })
	case "system_developer", "two_systems":
		return each(p, isAuthor("developer"), func(m *message) {
			m.change(func(text string) string {
				instructions, tools, formats := sections(text)
				instructions, _, _ = strings.Cut(instructions, "\n\n")
				return developer(instructions, tools, formats)
			})
		})
	}
	return p
}

// compact writes JSON without white space, and leaves any other text as it is.
func compact(text string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(text)) != nil {
		return text
	}
	return out.String()
}

// unquoted returns the string that a text of JSON is, and any other text as it is.
func unquoted(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) != nil {
		return text
	}
	return s
}

// namesOfTools leaves only the names of functions of a developer's tools.
func namesOfTools(text string) string {
	instructions, tools, formats := sections(text)
	var names []string
	for line := range strings.Lines(tools) {
		if rest, ok := strings.CutPrefix(line, "type "); ok {
			name, _, _ := strings.Cut(rest, " ")
			names = append(names, name)
		}
	}
	if tools != "" {
		tools = "# Tools\n\n" + strings.Join(names, ", ")
	}
	return developer(instructions, tools, formats)
}
