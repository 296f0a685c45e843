package translate

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Constraint is what the model's answer has to be, once it has thought: a call of a function, or text of some form. The
// zero Constraint leaves it free.
type Constraint struct {
	// Calls are the functions that may be called, if anything is wanted of the answer.
	Calls []CallConstraint
	// Forced says that the answer must be a call.
	Forced bool
	// Named says that Calls is the one tool that the client has named.
	Named bool
	// Schema is the JSON schema of an answer that is no call; empty is any text, unless there is one of these: a regular
	// expression that the whole of it matches, a grammar in EBNF, or the texts of which it is one.
	Schema, Pattern, Grammar string
	Choices                  []string
	// StrictAt is the place in the request of a promise that only a server can keep: that the answer has the Schema. Empty
	// is none.
	StrictAt string
}

// CallConstraint is a function that may be called, under the name that the model sees.
type CallConstraint struct {
	Name string
	// Custom is a tool that takes plain text, and no Parameters.
	Custom bool
	// Pattern is a regular expression that a custom tool's whole input matches; empty is any text.
	Pattern string
	// Parameters is the JSON schema of its arguments; nil when it takes none.
	Parameters *harmony.Schema
}

// Free reports that the model may write what it likes.
func (c *Constraint) Free() bool { return len(c.Calls) == 0 && !c.formed() }

// formed reports whether an answer that is no call has a form.
func (c *Constraint) formed() bool {
	return c.Schema != "" || c.Pattern != "" || c.Grammar != "" || len(c.Choices) > 0
}

// constraint puts together what the client wants of the answer. A strict function asks for it too, since its arguments
// shall have its schema, whether it must be called or only may; and so does a custom tool with a regular expression.
func (s toolset) constraint(declared []openai.Tool, schemas []*harmony.Schema, choice *openai.ToolChoice, format *openai.TextFormat) Constraint {
	c := Constraint{Forced: choice.Required, Named: choice.Name != ""}
	if !c.Forced {
		c.Schema, c.StrictAt = format.Schema, format.StrictAt
		c.Pattern, c.Grammar, c.Choices = format.Pattern, format.Grammar, format.Choices
	}
	wanted := c.Forced || c.formed()
	patterns := inputPatterns(declared)
	for i := range declared {
		wanted = wanted || declared[i].Strict || patterns[i] != ""
	}
	if !wanted || len(s) != len(declared) || len(s) != len(schemas) {
		return c
	}
	for i := range s {
		if c.Named && (s[i].name != choice.Name || s[i].custom != choice.Custom) {
			continue
		}
		c.Calls = append(c.Calls, CallConstraint{Name: s[i].shown, Custom: s[i].custom, Pattern: patterns[i], Parameters: schemas[i]})
		if c.Named {
			break
		}
	}
	return c
}

// enforceable makes the answer's regular expression, if it has one, such as servers read it.
func (c *Constraint) enforceable() *openai.Error {
	if c.Pattern == "" {
		return nil
	}
	pattern, ok := portable(c.Pattern)
	if !ok {
		return openai.Unsupported(c.StrictAt, "Unsupported regular expression: servers cannot be held to flags, lookaround, word boundaries, classes of Unicode or within classes, "+
			"anchors elsewhere than at the ends, or more than 1,000 repetitions.")
	}
	c.Pattern = pattern
	return nil
}

// inputPatterns are the tools' regular expressions that a server can hold their inputs to, each empty where there is none.
func inputPatterns(declared []openai.Tool) []string {
	patterns := make([]string, len(declared))
	room := maxPatterns
	for i := range declared {
		if room <= 0 {
			break
		}
		pattern := inputPattern(&declared[i])
		if room -= len(pattern); room >= 0 {
			patterns[i] = pattern
		}
	}
	return patterns
}

// maxPatterns is how much the regular expressions of a request may take, in bytes as they are sent, where a dot has five;
// what is beyond it is only shown.
const maxPatterns = 256 << 10

// formatText is the section of the developer message that shows the model the form of its answer, as gpt-oss was trained
// to find it.
func formatText(f *openai.TextFormat) string {
	text := append([]byte("# Response Formats\n\n## "), f.Name...)
	text = append(text, "\n\n"...)
	for description := f.Description; description != ""; {
		line, rest, _ := strings.Cut(description, "\n")
		text = append(append(append(text, "// "...), strings.TrimSuffix(line, "\r")...), '\n')
		description = rest
	}
	return string(append(text, f.Schema...))
}
