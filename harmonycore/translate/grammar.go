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

// portable writes a regular expression in what every engine reads in the same way, xgrammar too, whose words are few and
// which takes what it does not know for something else or fails the whole request. Groups lose their names, and a dot says
// that it is no line end. It is false for what has no such form: flags, looks around, word boundaries, classes of
// Unicode or within classes, anchors elsewhere than at the ends.
func portable(pattern string) (string, bool) {
	out := make([]byte, 0, len(pattern)+16)
	class := -1 // where the open class began
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		rest := pattern[i+1:]
		switch {
		case c == '\\':
			if rest == "" || !plainEscape(rest[0]) {
				return "", false
			}
			out = append(out, c, rest[0])
			i++
			continue
		case class >= 0:
			if c == '[' || c == ']' && i == class || (c == '&' || c == '~' || c == '-') && rest != "" && rest[0] == c {
				return "", false
			}
			if c == ']' {
				class = -1
			}
		case c == '[':
			class = i + 1
			if rest != "" && rest[0] == '^' {
				out = append(out, c)
				c = '^'
				i++
				class++
			}
		case c == '.':
			out = append(out, `[^\n]`...)
			continue
		case c == '(' && rest != "" && rest[0] == '?':
			length := groupHead(rest)
			if length == 0 {
				return "", false
			}
			out = append(out, "(?:"...)
			i += length
			continue
		case c == '^' && i > 0, c == '$' && rest != "", c == '{' && !isCount(rest):
			return "", false
		}
		out = append(out, c)
	}
	return string(out), class < 0
}

// plainEscape says that a backslash before c means the same to everybody, as far as ASCII goes: to some \w is a letter of
// any script. To some \< begins a word.
func plainEscape(c byte) bool {
	switch c {
	case '<', '>':
		return false
	case 'd', 'D', 'w', 'W', 's', 'S', 'n', 'r', 't', 'f', 'v':
		return true
	}
	return c > ' ' && c < 0x7F && (c < '0' || c > '9' && c < 'A' || c > 'Z' && c < 'a' || c > 'z')
}

// groupHead is the length of a group's head behind its bracket, "?:" or "?<name>" or "?P<name>"; 0 is another.
func groupHead(rest string) int {
	at := 1
	if at < len(rest) && rest[at] == ':' {
		return at + 1
	}
	if at < len(rest) && rest[at] == 'P' {
		at++
	}
	if at >= len(rest) || rest[at] != '<' {
		return 0
	}
	for at++; at < len(rest); at++ {
		switch c := rest[at]; {
		case c == '>':
			return at + 1
		case c == '_', c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		default:
			return 0
		}
	}
	return 0
}

// isCount says that a bracket opens how often something stands: "{2}", "{2,}" or "{2,3}".
func isCount(rest string) bool {
	digits, commas := 0, 0
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == ',' && digits > 0 && commas == 0:
			commas++
		default:
			return c == '}' && digits > 0
		}
	}
	return false
}
