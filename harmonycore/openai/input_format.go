package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// InputGrammar is the form of a custom tool's input. The zero value is any text.
type InputGrammar struct {
	// Syntax is [SyntaxRegex] or [SyntaxLark].
	Syntax, Definition string
}

// The values of [InputGrammar.Syntax].
const (
	SyntaxRegex = "regex"
	SyntaxLark  = "lark"
)

// maxGrammar is the maximum length of a definition, in bytes. The definition goes into the prompt, and may go into the
// server's request.
const maxGrammar = 64 << 10

// readInputFormat reads the input format of a custom tool. nested reports whether the grammar's members are in an
// object of their own, as in Chat. In Responses they are next to the type.
func (v value) readInputFormat(at string, nested bool, g *InputGrammar) *Error {
	if !v.given() {
		return nil
	}
	var kind, grammar value
	err := v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "type":
			kind = v
		case "grammar":
			grammar = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	name := ""
	if err := kind.text(join(at, "type"), &name); err != nil {
		return err
	}
	switch {
	case name == "" && !kind.given():
		return missing(join(at, "type"))
	case name == "text":
		return nil
	case name != "grammar":
		return notOneOf(join(at, "type"), name, "'text' and 'grammar'")
	case !nested:
		return v.readGrammar(at, g)
	case !grammar.given():
		return missing(join(at, "grammar"))
	default:
		return grammar.readGrammar(join(at, "grammar"), g)
	}
}

func (v value) readGrammar(at string, g *InputGrammar) *Error {
	var syntax, definition value
	err := v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "syntax":
			syntax = v
		case "definition":
			definition = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	param := join(at, "definition")
	switch {
	case !syntax.given():
		return missing(join(at, "syntax"))
	case !definition.given():
		return missing(param)
	case len(definition.raw) > maxGrammar:
		return tooLong(param, maxGrammar)
	}
	if err := syntax.word(join(at, "syntax"), &g.Syntax, SyntaxLark, SyntaxRegex); err != nil {
		return err
	}
	if err := definition.text(param, &g.Definition); err != nil {
		return err
	}
	if g.Definition == "" {
		return Invalid(param, "Invalid '"+param+"': empty string. Expected a grammar.")
	}
	return nil
}
