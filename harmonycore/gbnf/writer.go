package gbnf

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/lark"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// The limits of a grammar. What is beyond them is held to less.
const (
	maxSize = 256 << 10
	// maxDepth is how deep schemas may be nested, and maxRepeat the greatest bound of a repetition.
	maxDepth  = 32
	maxRepeat = 1000
	// maxMembers is how many members an object may have, and maxWork how many members all schemas may have to be
	// looked at.
	maxMembers = 1000
	maxWork    = 4 << 20
	// maxSpelling is longer than the spelling of a control token.
	maxSpelling = 32
)

// Writer writes a grammar. Its forms are those of a structural tag, and are written in the order in which they are
// read: a Sequence, an Or, a Star and an Optional hold every form up to their Close. [New] makes a Writer.
type Writer struct {
	// Unheld counts the forms that the grammar does not hold the answer to, or not to all that they say.
	Unheld int

	root, rules []byte
	// after reports whether the open form already holds another one.
	after bool
	// ends are how the open forms end, and betweens what stands between the forms that they hold, the innermost last.
	ends, betweens [8]string
	depth          int
	// names counts the rules that have a number, and work counts down from maxWork.
	names, work int
	// json and text report whether the rules for JSON and for text are needed.
	json, text bool
	schemas    schemas
}

// New returns a Writer that appends to dst.
func New(dst []byte) *Writer { return &Writer{root: append(dst, "root ::= "...), work: maxWork} }

// Bytes ends the grammar and returns it.
func (w *Writer) Bytes() []byte {
	out := append(append(w.root, '\n'), w.rules...)
	if w.text || w.json {
		out = append(out, textRules...)
	}
	if w.json {
		out = append(out, jsonRules...)
	}
	return out
}

// textRules are any text that has no <| before a small letter: no control token is in it, and none is spelled in
// ordinary tokens.
const textRules = `text ::= ([^<] | lt ([^<|] | "|" [^<a-z]))* (lt "|"?)?
lt ::= "<" ("<" | "|<")*
`

// begin writes what stands before a form.
func (w *Writer) begin() {
	if w.after {
		between := " "
		if w.depth > 0 {
			between = w.betweens[w.depth-1]
		}
		w.root = append(w.root, between...)
	}
	w.after = true
}

func (w *Writer) open(between, end string) {
	w.begin()
	w.root = append(w.root, '(')
	if w.depth < len(w.ends) {
		w.betweens[w.depth], w.ends[w.depth] = between, end
		w.depth++
	}
	w.after = false
}

// Close closes the form that was opened last.
func (w *Writer) Close() {
	if w.depth > 0 {
		w.depth--
		w.root = append(w.root, w.ends[w.depth]...)
	}
	w.after = true
}

// Sequence opens a form whose forms follow each other.
func (w *Writer) Sequence() { w.open(" ", ")") }

// Or opens a form that is one of its forms.
func (w *Writer) Or() { w.open(" | ", ")") }

// Star opens a form that repeats its one form any number of times, or none.
func (w *Writer) Star() { w.open(" ", ")*") }

// Optional opens a form that may be left out.
func (w *Writer) Optional() { w.open(" ", ")?") }

// Const writes the form of exactly this text. A control token that it spells is that token.
func (w *Writer) Const(text string) {
	w.begin()
	from := 0
	for at := 0; at < len(text); at++ {
		if text[at] != '<' {
			continue
		}
		id, size, _ := tokenizer.MatchSpecial([]byte(text[at:min(at+maxSpelling, len(text))]))
		if size == 0 {
			continue
		}
		if at > from {
			w.root = append(appendQuoted(w.root, text[from:at]), ' ')
		}
		w.root = strconv.AppendUint(append(w.root, "<["...), uint64(id), 10)
		w.root = append(w.root, "]> "...)
		from = at + size
		at = from - 1
	}
	if from < len(text) || text == "" {
		w.root = appendQuoted(w.root, text[from:])
	}
}

// Text writes the form of any text. No control token is in it, whatever is excluded.
func (w *Writer) Text(...string) {
	w.text = true
	w.name("text")
}

// Regex writes the form of a text that matches the whole pattern.
func (w *Writer) Regex(pattern string) {
	t := lark.Translate("start: /" + slashed(pattern) + "/")
	if t.EBNF == "" && !t.Any {
		w.Unheld++
	}
	w.Grammar(t.EBNF, t.LeftRecursive)
}

// slashed returns a pattern as it stands between slashes.
func slashed(pattern string) string {
	out := make([]byte, 0, len(pattern)+8)
	for at := 0; at < len(pattern); at++ {
		c := pattern[at]
		switch {
		case c == '\\' && at+1 < len(pattern):
			out = append(out, c, pattern[at+1])
			at++
		case c == '/':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, `\n`...)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// Grammar writes the form of a text of this grammar, which begins at the rule root. Without a grammar it is any text,
// and also where a rule begins with itself, which llama.cpp refuses.
func (w *Writer) Grammar(ebnf string, leftRecursive bool) {
	if leftRecursive || len(w.rules)+2*len(ebnf) > maxSize {
		w.Unheld++
		ebnf = ""
	}
	if ebnf == "" {
		w.Text()
		return
	}
	prefix := string(strconv.AppendInt([]byte{'g'}, int64(w.names), 10)) + "-"
	w.names++
	w.rules = append(appendRenamed(w.rules, ebnf, prefix), '\n')
	w.name(prefix + "root")
}

// JSON writes the form of a JSON value that satisfies the schema, which is JSON text.
func (w *Writer) JSON(schema string) {
	w.json = true
	w.name(w.jsonRule(schema))
}

// name writes the name of a rule as a form.
func (w *Writer) name(rule string) {
	w.begin()
	w.root = append(w.root, rule...)
}

// rule adds a rule, and returns its name.
func (w *Writer) rule(body []byte) string {
	name := w.newName()
	w.define(name, body)
	return name
}

func (w *Writer) newName() string {
	name := string(strconv.AppendInt([]byte{'x'}, int64(w.names), 10))
	w.names++
	return name
}

func (w *Writer) define(name string, body []byte) {
	w.rules = append(append(w.rules, name...), " ::= "...)
	w.rules = append(append(w.rules, body...), '\n')
}

// appendQuoted appends a text as GBNF spells it.
func appendQuoted(dst []byte, text string) []byte {
	const digits = "0123456789ABCDEF"
	dst = append(dst, '"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c < ' ' || c == 0x7f:
			dst = append(dst, `\u00`...)
			dst = append(dst, digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// appendRenamed appends a grammar whose rules' names begin with prefix.
func appendRenamed(dst []byte, ebnf, prefix string) []byte {
	for at := 0; at < len(ebnf); {
		end := at + 1
		switch c := ebnf[at]; {
		case c == '"':
			end = closed(ebnf, at, '"')
		case c == '[':
			end = closed(ebnf, at, ']')
		case c == '{':
			end = closed(ebnf, at, '}')
		case c == '<':
			end = closed(ebnf, at, '>')
		case c == '#':
			for end < len(ebnf) && ebnf[end] != '\n' {
				end++
			}
			at = end
			continue
		case isName(c):
			for end < len(ebnf) && isName(ebnf[end]) {
				end++
			}
			dst = append(dst, prefix...)
		}
		dst = append(dst, ebnf[at:end]...)
		at = end
	}
	return dst
}

// closed returns where what begins at from ends, after the next byte end that is not escaped.
func closed(text string, from int, end byte) int {
	for at := from + 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case end:
			return at + 1
		}
	}
	return len(text)
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
