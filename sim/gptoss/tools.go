package gptoss

import (
	"encoding/json"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/ebnf"
)

// Tool is a function declared in a developer message.
type Tool struct {
	Name        string
	Description string
	Params      *tsType // nil: takes no parameters
	// Schema is what the arguments have to fit, and pattern or grammar what a text has to match. Without them params counts.
	Schema  json.RawMessage
	pattern string
	grammar *ebnf.Grammar
}

// tsType is as much of a type as it takes to make arguments.
type tsType struct {
	kind     string // object, string, number, boolean, array, null, any, enum
	props    []tsProp
	elem     *tsType
	literals []string
}

type tsProp struct {
	name     string
	required bool
	typ      *tsType
}

// readTools reads the TypeScript declarations of "namespace functions { … } // namespace functions". It skips what it
// cannot read, since a model would not refuse it either.
func readTools(text string) []Tool {
	const open, end = "\nnamespace functions {\n", "\n} // namespace functions"
	at := strings.LastIndex(text, open)
	if at < 0 {
		return nil
	}
	text = text[at+len(open):]
	if stop := strings.Index(text, end); stop >= 0 {
		text = text[:stop+1]
	}
	var tools []Tool
	var about []string
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		if d, ok := strings.CutPrefix(line, "//"); ok {
			about = append(about, strings.TrimSpace(d))
			text = rest
			continue
		}
		decl, ok := strings.CutPrefix(line, "type ")
		name, _, found := strings.Cut(decl, " = (")
		if !ok || !found {
			about = nil
			text = rest
			continue
		}
		t := Tool{Name: name, Description: strings.Join(about, " ")}
		about = nil
		text = text[len("type ")+len(name)+len(" = ("):]
		if args, ok := strings.CutPrefix(text, "_: "); ok {
			p := &tsParser{s: args}
			t.Params = p.parseType(0)
			text = p.s[p.i:]
		}
		if stop := strings.Index(text, "=> any;"); stop >= 0 {
			text = text[stop+len("=> any;"):]
		} else {
			text = ""
		}
		tools = append(tools, t)
	}
	return tools
}

// tsParser reads types. It never fails: it reads anything unknown as any.
type tsParser struct {
	s string
	i int
}

const tsDepth = 64

// space skips white space and comments.
func (p *tsParser) space() {
	for p.i < len(p.s) {
		switch {
		case strings.HasPrefix(p.s[p.i:], "//"):
			p.line()
		case strings.ContainsRune(" \t\r\n", rune(p.s[p.i])):
			p.i++
		default:
			return
		}
	}
}

// line skips to the end of the line.
func (p *tsParser) line() {
	if n := strings.IndexByte(p.s[p.i:], '\n'); n >= 0 {
		p.i += n + 1
	} else {
		p.i = len(p.s)
	}
}

func (p *tsParser) eat(c byte) bool {
	p.space()
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

// parseType reads alternatives separated by "|", optionally with a leading one. If all are literals, they become an
// enum. Otherwise the first alternative counts.
func (p *tsParser) parseType(depth int) *tsType {
	if depth > tsDepth {
		p.i = len(p.s)
		return &tsType{kind: "any"}
	}
	p.eat('|')
	first := p.parseOne(depth)
	for p.eat('|') {
		next := p.parseOne(depth)
		if first.kind == "enum" && next.kind == "enum" {
			first.literals = append(first.literals, next.literals...)
		}
	}
	return first
}

func (p *tsParser) parseOne(depth int) *tsType {
	p.space()
	t := &tsType{kind: "any"}
	switch {
	case p.i >= len(p.s):
		return t
	case p.s[p.i] == '{':
		p.i++
		t = &tsType{kind: "object", props: p.parseProps(depth + 1)}
	case p.s[p.i] == '"':
		p.i++
		n := strings.IndexAny(p.s[p.i:], "\"\n")
		if n < 0 {
			n = len(p.s) - p.i
		}
		t = &tsType{kind: "enum", literals: []string{p.s[p.i : p.i+n]}}
		p.i = min(p.i+n+1, len(p.s))
	default:
		n := 0
		for p.i+n < len(p.s) && IsWordByte(p.s[p.i+n]) {
			n++
		}
		word := p.s[p.i : p.i+n]
		p.i += n
		switch word {
		case "string", "number", "boolean", "null", "object":
			t.kind = word
		case "Array":
			t = &tsType{kind: "array", elem: &tsType{kind: "any"}}
			if p.eat('<') {
				t.elem = p.parseType(depth + 1)
				p.eat('>')
			}
		}
	}
	for strings.HasPrefix(p.s[p.i:], "[]") {
		p.i += 2
		t = &tsType{kind: "array", elem: t}
	}
	return t
}

// parseProps reads properties up to the closing brace. It skips lines without a property: later lines of a description
// are in the text without a comment sign.
func (p *tsParser) parseProps(depth int) []tsProp {
	var props []tsProp
	for {
		p.space()
		if p.i >= len(p.s) || p.eat('}') {
			return props
		}
		if p.eat(',') {
			continue
		}
		line := p.s[p.i:]
		if n := strings.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		name, _, ok := strings.Cut(line, ":")
		if !ok || strings.ContainsAny(name, " {}") {
			p.line()
			continue
		}
		p.i += len(name) + 1
		bare, optional := strings.CutSuffix(name, "?")
		props = append(props, tsProp{name: bare, required: !optional, typ: p.parseType(depth)})
	}
}

// IsWordByte reports whether a byte is a letter, a digit or _.
func IsWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// TextParameter returns the name of a tool's only parameter if it is a text.
func TextParameter(tools []Tool, name string) string {
	for _, t := range tools {
		if t.Name == name && t.Params != nil && len(t.Params.props) == 1 && t.Params.props[0].typ.kind == "string" {
			return t.Params.props[0].name
		}
	}
	return ""
}
