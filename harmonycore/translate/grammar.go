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

// inputPattern returns the regular expression that a server can enforce for a tool's input, or an empty string.
func inputPattern(t *openai.Tool) string {
	if t.Grammar.Syntax != openai.SyntaxRegex {
		return ""
	}
	pattern, ok := portable(t.Grammar.Definition)
	if !ok {
		return ""
	}
	return pattern
}
