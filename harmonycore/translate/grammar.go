package translate

import "github.com/harmonyedge/harmonyedge/harmonycore/openai"

// describe is a tool's description as the model reads it: with the grammar that its input shall keep to, if it has one.
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

// inputPattern is the regular expression that a server can hold a tool's input to, or empty where there is none.
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
