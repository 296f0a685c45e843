package translate

import "github.com/harmonyedge/harmonyedge/harmonycore/openai"

// describe returns a tool's description for the model. It includes the grammar of the tool's input, if there is one.
func describe(t *openai.Tool) string {
	note := ""
	switch t.Grammar.Syntax {
	case openai.SyntaxRegex:
		note = "The whole input matches this regular expression:\n"
	case openai.SyntaxLark:
		note = "The input keeps to this Lark grammar:\n"
	default:
		return t.Description
	}
	if t.Description != "" {
		note = "\n\n" + note
	}
	return t.Description + note + t.Grammar.Definition
}

// inputForm is what a server can enforce for the input of a custom tool: a regular expression, a grammar in EBNF, or
// nothing.
type inputForm struct {
	pattern, grammar string
	leftRecursive    bool
}

func (f inputForm) size() int { return len(f.pattern) + len(f.grammar) }

// maxInputForms is the maximum length of all forms of a request, in bytes as sent, where a dot of a regular expression
// takes five, and of the grammars that they are made of. Forms beyond it are shown to the model but not enforced.
const maxInputForms = 256 << 10

// inputs returns the form of each tool's input. It counts the forms that no server can enforce.
func (s *schemas) inputs() []inputForm {
	forms := make([]inputForm, len(s.declared))
	room := maxInputForms
	s.unenforced = 0
	for i := range s.declared {
		g := &s.declared[i].Grammar
		if g.Syntax == "" {
			continue
		}
		form, enforced := inputForm{}, false
		if room -= len(g.Definition); room >= 0 {
			form, enforced = s.inputForm(g)
		}
		if room -= form.size(); enforced && room >= 0 {
			forms[i] = form
		} else {
			s.unenforced++
		}
	}
	return forms
}

// inputForm returns what a server can enforce of a grammar. It reports whether that is all of it, which is nothing for a
// grammar of any text.
func (s *schemas) inputForm(g *openai.InputGrammar) (inputForm, bool) {
	if g.Syntax == openai.SyntaxRegex {
		pattern, ok := portable(g.Definition)
		return inputForm{pattern: pattern}, ok && pattern != ""
	}
	t := s.grammars.translate(g.Definition)
	return inputForm{grammar: t.EBNF, leftRecursive: t.LeftRecursive}, t.EBNF != "" || t.Any
}
