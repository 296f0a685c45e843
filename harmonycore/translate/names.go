package translate

import "strings"

// byRecipient returns the declared tool that a recipient names, or nil. The recipient is functions.NAME or NAME alone,
// or what misses such a name by a namespace ([toolset.missedBy]). Models sometimes append the content type to it:
// "json", or "code" in a call of a built-in tool.
func (s toolset) byRecipient(recipient string) *shownTool {
	name := strings.TrimPrefix(recipient, functions+".")
	if t := s.find(name); t != nil {
		return t
	}
	short, glued := strings.CutSuffix(name, jsonType)
	if glued {
		if t := s.find(short); t != nil {
			return t
		}
	}
	if code, ends := strings.CutSuffix(name, codeType); ends {
		if t := s.find(code); t != nil && t.builtIn {
			return t
		}
	}
	if t := s.missedBy(recipient); t != nil || !glued {
		return t
	}
	return s.missedBy(short)
}

// maxPrefixes is how many times a model may write functions. before a name.
const maxPrefixes = 2

// missedBy returns the only tool that a name means which is not the tool's own, or nil. It may have functions. before
// it once too often, and the client's namespace with a dot or two underscores: mcp__shop.list and mcp__shop__list are list
// of the namespace mcp__shop. Where the client itself has put a namespace into the name of a function, the dot is the
// two underscores (RATIONALE.md#231).
func (s toolset) missedBy(name string) *shownTool {
	for range maxPrefixes {
		rest, prefixed := strings.CutPrefix(name, FunctionPrefix)
		if !prefixed {
			break
		}
		if name = rest; s.find(name) != nil {
			return s.find(name)
		}
	}
	if strings.Contains(name, ".") {
		name = strings.ReplaceAll(name, ".", separator)
	}
	var found *shownTool
	for i := range s {
		if !s[i].isMissedBy(name) {
			continue
		}
		if found != nil {
			return nil
		}
		found = &s[i]
	}
	return found
}

// separator stands between a namespace and a name.
const separator = "__"

// isMissedBy reports whether a name with two underscores for each dot is the tool's, with its namespace if it has one.
func (t *shownTool) isMissedBy(name string) bool {
	if t.builtIn {
		return strings.ReplaceAll(t.name, ".", separator) == name
	}
	if t.namespace == "" {
		return t.name == name
	}
	rest, ok := strings.CutPrefix(name, t.namespace)
	if !ok {
		return false
	}
	if bare, separated := strings.CutPrefix(rest, separator); separated {
		return bare == t.name
	}
	return strings.HasSuffix(t.namespace, separator) && rest == t.name
}
