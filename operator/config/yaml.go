package config

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// TrimMark returns a text without the byte order mark that some editors on Windows write. YAML allows it, and the
// library does not know it.
func TrimMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// parseYAML parses a file.
func parseYAML(data []byte) (*ast.File, error) {
	return parser.Parse(joinURLs(lexer.Tokenize(string(TrimMark(data)))), 0)
}

// joinURLs joins the parts of URLs with a port that stand in a list inside braces, such as {servers: [http://h:1]}. By
// YAML 1.2 the colon before the port separates nothing, since no space follows it. The library separates there.
func joinURLs(all token.Tokens) token.Tokens {
	var joined token.Tokens
	for i := 0; i < len(all); i++ {
		t := all[i]
		for i+2 < len(all) && isURL(t) && adjacent(t, all[i+1]) && all[i+1].Type == token.MappingValueType &&
			adjacent(all[i+1], all[i+2]) && isPlain(all[i+2]) {
			url := token.String(t.Value+":"+all[i+2].Value, t.Origin+":"+all[i+2].Origin, t.Position)
			t, i = url, i+2
		}
		joined.Add(t)
	}
	return joined
}

func isURL(t *token.Token) bool {
	return t.Type == token.StringType && strings.Contains(t.Value, "://")
}

func isPlain(t *token.Token) bool { return t.Type == token.StringType || t.Type == token.IntegerType }

// adjacent reports whether nothing stands between two tokens. Neither has spaces in it, or it is no URL.
func adjacent(a, b *token.Token) bool {
	return a.Position.Line == b.Position.Line && a.Position.Column+len(a.Value) == b.Position.Column
}

// syntaxErrors are the YAML library's messages about the structure of a text, and what is said instead. %s is the line,
// in quotation marks. The first one that matches counts.
var syntaxErrors = []struct {
	message *regexp.Regexp
	reason  string
}{
	{regexp.MustCompile(`\t|tab character`), "a tab; indent with spaces"},
	{regexp.MustCompile(`^sequence end token ']' not found|or ']' must be specified`),
		"a list that begins with [ does not end; write ]"},
	{regexp.MustCompile(`flow mapping end token '}'|or '}' must be specified`),
		"a block that begins with { does not end; write }"},
	{regexp.MustCompile(`could not find end character of (double|single)-quoted text`),
		"a quotation mark is opened here and not closed"},
	{regexp.MustCompile(`'(.)' is a reserved character|unexpected (directive) value`),
		"%s: a value cannot begin with @, % or a backtick; put quotation marks around it"},
	{regexp.MustCompile(`^mapping value is not allowed in this context`),
		"%s has a colon too many; put quotation marks around a value that has a colon and a space"},
	{regexp.MustCompile(`^unexpected key name|^non-map value is specified|value is not allowed in this context` +
		`|map key definition includes an implicit line break|found an invalid key`),
		"%s does not belong here; a setting is name: value, and is indented as those beside it"},
	{regexp.MustCompile(`^could not find alias "(.*)"|^cannot find anchor by alias`),
		"there is no anchor of this name; put quotation marks around text that begins with *"},
	{regexp.MustCompile(`unknown escape character`),
		`%s has a backslash that means nothing in double quotation marks; write \\, or single ones`},
	{regexp.MustCompile(`sequence entries are not allowed`),
		"%s: a list begins on a line of its own; indent its entries alike"},
}

// SyntaxReason returns what is wrong with the structure of a text, by the YAML library's message, in our own words.
// line is the text's line, and is quoted; "" quotes nothing, for files with
// secrets, and of a message that is not known it returns "".
func SyntaxReason(message, line string) string {
	for _, one := range syntaxErrors {
		if one.message.MatchString(message) {
			return strings.TrimPrefix(strings.Replace(one.reason, "%s", excerpt(line), 1), ": ")
		}
	}
	if line == "" {
		return ""
	}
	return fmt.Sprintf("%s is not YAML: %s", excerpt(line), message)
}

// maxQuoted is how much of a file an error quotes, in characters.
const maxQuoted = 60

func excerpt(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "the line"
	}
	if runes := []rune(text); len(runes) > maxQuoted {
		text = string(runes[:maxQuoted]) + "…"
	}
	return strconv.Quote(text)
}

// indentReason returns what is wrong with the beginnings of lines where the YAML library names something else, or "".
// It moves the place to that line.
func (e *Error) indentReason(data []byte) string {
	line := lineOf(data, e.Line)
	if entryWithoutSpace.MatchString(line) {
		e.Column = strings.Index(line, "-") + 1
		return dashReason(excerpt(line))
	}
	if e.Column < 1 || e.Column > len(line) || strings.Contains(line[e.Column-1:], ": ") {
		return ""
	}
	// The library takes a line that is indented further for the rest of the value above it.
	next := lineOf(data, e.Line+1)
	if trimmed := strings.TrimLeft(next, " "); strings.Contains(trimmed, ":") && trimmed[0] != '#' {
		e.Line, e.Column = e.Line+1, len(next)-len(trimmed)+1
		return excerpt(next) + " is indented further than the setting above it; indent both alike"
	}
	return ""
}

// dashReason returns what is wrong with the entry of a list, in quotation marks, that has no space behind its dash.
func dashReason(quoted string) string {
	return quoted + " wants a space behind the dash, as in - name: value"
}

// entryWithoutSpace finds the entry of a list that has no space behind its dash. A line of dashes is not one.
var entryWithoutSpace = regexp.MustCompile(`^ *-[A-Za-z_]+:`)

// lineOf returns a line of a text, by its number from 1, or "".
func lineOf(data []byte, number int) string {
	for line := range strings.Lines(string(data)) {
		if number--; number == 0 {
			return line
		}
	}
	return ""
}
