package translate

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Constraint is what the model's answer must be after the reasoning: a call of a tool, or text of some form. The zero
// value allows every answer.
type Constraint struct {
	// Calls are the tools that may be called. It is empty if nothing constrains the answer.
	Calls []CallConstraint
	// Forced reports whether the answer must be a call.
	Forced bool
	// Named reports whether Calls holds only the tool that the client named, or the methods of a built-in one.
	Named bool
	// Loose reports whether only inputs of custom tools have a form. Then the calls of other tools have any text.
	Loose bool
	// Schema is the JSON schema of an answer that is not a call. At most one of Schema, Pattern, Grammar and Choices is
	// set; none means any text. Pattern is a regular expression that the whole answer matches. Grammar is a grammar in
	// EBNF. Choices are texts, one of which is the answer.
	Schema, Pattern, Grammar string
	Choices                  []string
	// StrictAt is the place in the request of a promise that only a server can keep: that the answer has this form. It is
	// empty if there is none.
	StrictAt string
}

// CallConstraint is a tool that may be called.
type CallConstraint struct {
	// Recipient is the tool's full name, Channel the channel of its calls, and ContentType what their headers name as
	// their content's type, if anything.
	Recipient, Channel, ContentType string
	// Custom reports whether the tool takes plain text. It then has no Parameters.
	Custom bool
	// Free reports whether the arguments may be any text.
	Free bool
	// Pattern is a regular expression that the whole input of a custom tool matches, and Grammar a grammar in EBNF. At most
	// one of them is set; none means any text.
	Pattern, Grammar string
	// LeftRecursive reports whether a rule of the grammar begins with itself.
	LeftRecursive bool
	// Parameters is the JSON schema of the arguments, or nil if the function takes none.
	Parameters *harmony.Schema
}

// Free reports whether every answer is allowed.
func (c *Constraint) Free() bool { return len(c.Calls) == 0 && !c.Formed() }

// Formed reports whether an answer that is not a call has a form.
func (c *Constraint) Formed() bool {
	return c.Schema != "" || c.Pattern != "" || c.Grammar != "" || len(c.Choices) > 0
}

// constraint returns the constraint that the client asks for. The answer is also constrained if a function is strict,
// whether it must be called or only may be, and if the input of a custom tool has a form.
func (s toolset) constraint(known *schemas, choice *openai.ToolChoice, format *openai.TextFormat) Constraint {
	declared := known.declared
	c := Constraint{Forced: choice.Required, Named: choice.Name != ""}
	if !c.Forced {
		c.Schema, c.StrictAt = format.Schema, format.StrictAt
		c.Pattern, c.Grammar, c.Choices = format.Pattern, format.Grammar, format.Choices
	}
	strict, formed := c.Forced || c.Formed(), false
	inputs := known.inputs()
	for i := range declared {
		strict, formed = strict || declared[i].Strict, formed || inputs[i] != inputForm{}
	}
	if !strict && !formed || len(s) != len(declared) {
		return c
	}
	c.Loose = !strict
	schemas := make([]*harmony.Schema, len(declared))
	if strict {
		schemas = known.all()
	}
	for i := range s {
		if c.Named && !s[i].chosen(choice) {
			continue
		}
		c.Calls = append(c.Calls, CallConstraint{
			Recipient: s[i].recipient(), Channel: s[i].channel(), ContentType: s[i].contentType(s[i].custom),
			Custom: s[i].custom, Free: c.Loose, Pattern: inputs[i].pattern, Grammar: inputs[i].grammar,
			LeftRecursive: inputs[i].leftRecursive, Parameters: schemas[i]})
		s[i].formed = inputs[i] != inputForm{}
		if c.Named && !choice.BuiltIn {
			break
		}
	}
	return c
}

// chosen reports whether a choice names the tool, or the built-in tool that it is a method of.
func (t *shownTool) chosen(choice *openai.ToolChoice) bool {
	if choice.BuiltIn {
		name, _, _ := strings.Cut(t.name, ".")
		return t.builtIn && name == choice.Name
	}
	return !t.builtIn && t.name == choice.Name && t.custom == choice.Custom
}

// enforceable rewrites the regular expression of the answer, if it has one, in a form that servers understand. It
// returns an error if there is no such form.
func (c *Constraint) enforceable() *openai.Error {
	if c.Pattern == "" {
		return nil
	}
	pattern, ok := portable(c.Pattern)
	if !ok {
		return openai.Unsupported(c.StrictAt, "Unsupported regular expression: servers cannot be held to flags, "+
			"lookaround, word boundaries, classes of Unicode or within classes, "+
			"anchors elsewhere than at the ends, or more than 1,000 repetitions.")
	}
	c.Pattern = pattern
	return nil
}

// formatText returns the section of the developer message that shows the form of the answer to the model, as in
// gpt-oss's training.
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
