package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// Tag writes a structural tag, the language in which xgrammar, and with it vLLM, is told what a model may write: a tree
// of formats, here in the order in which they are read. A format stands alone (Const, Text, JSON, Regex, Grammar) or holds others,
// from its opening to Close.
//
//	format = const_string | any_text | json_schema | regex | grammar | sequence format* | or format* | star format | optional format
//
// NewTag makes one. Formats beside each other are only for those that hold several.
type Tag struct {
	dst []byte
	// after says that a format stands before this place, in the one that holds both.
	after bool
	// ends are the brackets that close what is open, the innermost last: nothing of ours nests deeper than its length.
	ends  [8]string
	depth int
}

// NewTag begins a tag in dst's memory.
func NewTag(dst []byte) Tag {
	return Tag{dst: append(dst, `{"type":"structural_tag","format":`...)}
}

// Bytes ends the tag.
func (t *Tag) Bytes() []byte { return append(t.dst, '}') }

func (t *Tag) begin(text string) {
	if t.after {
		t.dst = append(t.dst, ',')
	}
	t.dst = append(t.dst, text...)
	t.after = true
}

func (t *Tag) open(text, end string) {
	t.begin(text)
	if t.depth < len(t.ends) {
		t.ends[t.depth] = end
		t.depth++
	}
	t.after = false
}

// Close ends the format that was opened last.
func (t *Tag) Close() {
	if t.depth > 0 {
		t.depth--
		t.dst = append(t.dst, t.ends[t.depth]...)
	}
	t.after = true
}

// Sequence opens formats that follow each other.
func (t *Tag) Sequence() { t.open(`{"type":"sequence","elements":[`, "]}") }

// Or opens formats of which one is written.
func (t *Tag) Or() { t.open(`{"type":"or","elements":[`, "]}") }

// Star opens one format that is written any number of times.
func (t *Tag) Star() { t.open(`{"type":"star","content":`, "}") }

// Optional opens one format that may be left out.
func (t *Tag) Optional() { t.open(`{"type":"optional","content":`, "}") }

// Const is exactly this text. A special token is its spelling.
func (t *Tag) Const(text string) {
	t.begin(`{"type":"const_string","value":`)
	t.dst = append(rawjson.AppendString(t.dst, text), '}')
}

// Text is any text without one of these in it.
func (t *Tag) Text(without ...string) {
	t.begin(`{"type":"any_text","excludes":[`)
	for i, text := range without {
		if i > 0 {
			t.dst = append(t.dst, ',')
		}
		t.dst = rawjson.AppendString(t.dst, text)
	}
	t.dst = append(t.dst, "]}"...)
}

// Regex is a text of which the pattern matches the whole. xgrammar knows no flags, looks around, boundaries and names of
// groups, and its dot is any character.
func (t *Tag) Regex(pattern string) {
	t.begin(`{"type":"regex","pattern":`)
	t.dst = append(rawjson.AppendString(t.dst, pattern), '}')
}

// Grammar is a text of a grammar in xgrammar's EBNF, which begins with the rule root.
func (t *Tag) Grammar(ebnf string) {
	t.begin(`{"type":"grammar","grammar":`)
	t.dst = append(rawjson.AppendString(t.dst, ebnf), '}')
}

// JSON is a value of a schema, which is JSON text.
func (t *Tag) JSON(schema string) {
	t.begin(`{"type":"json_schema","json_schema":`)
	t.dst = append(append(t.dst, schema...), '}')
}
