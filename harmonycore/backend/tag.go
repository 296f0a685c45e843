package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// Tag writes a structural tag. This is the language of xgrammar, which vLLM uses, for what a model may write. A tag is
// a tree of formats, written here in the order in which they are read. [Tag.Const], [Tag.Text], [Tag.JSON], [Tag.Regex]
// and [Tag.Grammar] write a leaf. The other formats hold every format up to their [Tag.Close].
//
//	format = const_string | any_text | json_schema | regex | grammar
//	       | sequence format* | or format* | star format | optional format
//
// [NewTag] makes a Tag. Only a sequence and an or may hold several formats.
type Tag struct {
	dst []byte
	// after reports whether the open format already holds another one, so that a comma comes next.
	after bool
	// ends are the brackets that close the open formats, the innermost last. No tag of the gateway nests deeper than this.
	ends  [8]string
	depth int
}

// NewTag returns a Tag that appends to dst.
func NewTag(dst []byte) Tag {
	return Tag{dst: append(dst, `{"type":"structural_tag","format":`...)}
}

// Bytes ends the tag and returns it.
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

// Close closes the format that was opened last.
func (t *Tag) Close() {
	if t.depth > 0 {
		t.depth--
		t.dst = append(t.dst, t.ends[t.depth]...)
	}
	t.after = true
}

// Sequence opens a format whose formats follow each other.
func (t *Tag) Sequence() { t.open(`{"type":"sequence","elements":[`, "]}") }

// Or opens a format that is exactly one of its formats.
func (t *Tag) Or() { t.open(`{"type":"or","elements":[`, "]}") }

// Star opens a format that repeats its one format any number of times, or none.
func (t *Tag) Star() { t.open(`{"type":"star","content":`, "}") }

// Optional opens a format that may be left out.
func (t *Tag) Optional() { t.open(`{"type":"optional","content":`, "}") }

// Const writes the format of exactly this text. A special token is written by its spelling.
func (t *Tag) Const(text string) {
	t.begin(`{"type":"const_string","value":`)
	t.dst = append(rawjson.AppendString(t.dst, text), '}')
}

// Text writes the format of any text that contains no excluded text.
func (t *Tag) Text(excluded ...string) {
	t.begin(`{"type":"any_text","excludes":[`)
	for i, text := range excluded {
		if i > 0 {
			t.dst = append(t.dst, ',')
		}
		t.dst = rawjson.AppendString(t.dst, text)
	}
	t.dst = append(t.dst, "]}"...)
}

// Regex writes the format of a text that matches the whole pattern. xgrammar supports no flags, lookaround, boundaries
// or group names, and its dot matches every character.
func (t *Tag) Regex(pattern string) {
	t.begin(`{"type":"regex","pattern":`)
	t.dst = append(rawjson.AppendString(t.dst, pattern), '}')
}

// Grammar writes the format of a text of this grammar in xgrammar's EBNF. The grammar begins at the rule root. Rules may
// begin with themselves.
func (t *Tag) Grammar(ebnf string, _ bool) {
	t.begin(`{"type":"grammar","grammar":`)
	t.dst = append(rawjson.AppendString(t.dst, ebnf), '}')
}

// JSON writes the format of a JSON value that satisfies the schema, which is JSON text.
func (t *Tag) JSON(schema string) {
	t.begin(`{"type":"json_schema","json_schema":`)
	t.dst = append(append(t.dst, schema...), '}')
}
