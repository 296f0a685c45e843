package gbnf

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// jsonRules are JSON values of each type. In strings, no control token is spelled, as in texts.
const jsonRules = `value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" w (string w ":" w value w ("," w string w ":" w value w)*)? "}"
array ::= "[" w (value w ("," w value w)*)? "]"
string ::= "\"" (sc | lt (sd | "|" se))* (lt "|"?)? "\""
sc ::= [^"\\<\u0000-\u001F] | esc
sd ::= [^"\\<|\u0000-\u001F] | esc
se ::= [^"\\<a-z\u0000-\u001F] | esc
char ::= [^"\\\u0000-\u001F] | esc
esc ::= "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
number ::= integer ("." [0-9]{1,16})? ([eE] ("+" | "-")? [0-9]{1,3})?
integer ::= "-"? ("0" | [1-9] [0-9]{0,15})
boolean ::= "true" | "false"
null ::= "null"
w ::= (" " | "\n" " "{0,32})?
`

// The names of rules that are in jsonRules.
const (
	anyValue  = "value"
	anyObject = "object"
)

// schemas is what is known of the schema that is being written.
type schemas struct {
	root *rawjson.Value
	// known are the schemas that references name, and their rules.
	known []knownSchema
}

type knownSchema struct {
	schema *rawjson.Value
	rule   string
}

// jsonRule returns the rule of a schema.
func (w *Writer) jsonRule(schema string) string {
	data := []byte(schema)
	if rawjson.Validate(data, 2*maxDepth) != nil {
		return w.unheld(anyValue)
	}
	root, err := rawjson.Parse(data, 2*maxDepth)
	if err != nil {
		return w.unheld(anyValue)
	}
	w.schemas = schemas{root: root}
	return w.schema(root, 0)
}

// unheld counts a schema that is only held to a rule.
func (w *Writer) unheld(rule string) string {
	w.Unheld++
	return rule
}

// schema returns the rule of a schema.
func (w *Writer) schema(v *rawjson.Value, depth int) string {
	switch {
	case depth > maxDepth || len(w.rules) > maxSize || !w.spend(1+len(v.Members)):
		return w.unheld(anyValue)
	case v.Kind == rawjson.Bool && v.Bool:
		return anyValue
	case v.Kind != rawjson.Object:
		return w.unheld(anyValue)
	}
	for i := range v.Members {
		if passedOver(v.Members[i].Key) {
			w.Unheld++
			break
		}
	}
	if ref := v.Get("$ref"); ref != nil {
		return w.reference(ref, depth)
	}
	if only := v.Get("const"); only != nil {
		return w.rule(appendLiteral(nil, only))
	}
	if all := v.Get("enum"); all != nil {
		return w.oneOf(all, depth, false)
	}
	for _, word := range [...]string{"anyOf", "oneOf"} {
		if all := v.Get(word); all != nil {
			if v.Get("properties") != nil {
				w.Unheld++
			}
			return w.oneOf(all, depth, true)
		}
	}
	if all := v.Get("allOf"); all != nil {
		if len(all.Elements) != 1 || v.Get("properties") != nil {
			return w.unheld(anyValue)
		}
		return w.schema(&all.Elements[0], depth+1)
	}
	return w.typedSchema(v, depth)
}

// spend takes n units of work, and reports whether they were left.
func (w *Writer) spend(n int) bool {
	w.work -= n
	return w.work >= 0
}

// passedOver reports whether a keyword says something that the grammar does not hold an answer to.
func passedOver(keyword string) bool {
	switch keyword {
	case "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "contains",
		"not", "if", "patternProperties", "dependentRequired", "dependentSchemas", "dependencies", "propertyNames",
		"minProperties", "maxProperties", "prefixItems", "additionalItems", "unevaluatedItems", "unevaluatedProperties",
		"$dynamicRef", "$recursiveRef":
		return true
	}
	return false
}

// typedSchema returns the rule of a schema by its type or types, or by what it says of members and elements.
func (w *Writer) typedSchema(v *rawjson.Value, depth int) string {
	kind := v.Get("type")
	switch {
	case kind == nil && (v.Get("properties") != nil || v.Get("required") != nil || v.Get("additionalProperties") != nil):
		return w.object(v, depth)
	case kind == nil && v.Get("items") != nil:
		return w.array(v, depth)
	case kind == nil:
		return anyValue
	case kind.Kind == rawjson.String:
		return w.typed(v, kind.Text, depth)
	case kind.Kind != rawjson.Array || len(kind.Elements) == 0:
		return w.unheld(anyValue)
	}
	var body []byte
	for i := range kind.Elements {
		if i > 0 {
			body = append(body, " | "...)
		}
		body = append(body, w.typed(v, kind.Elements[i].Text, depth)...)
	}
	return w.rule(body)
}

// typed returns the rule of a schema of one type.
func (w *Writer) typed(v *rawjson.Value, kind string, depth int) string {
	switch kind {
	case "string":
		return w.stringRule(v)
	case "number", "integer", "boolean", "null":
		return kind
	case "array":
		return w.array(v, depth)
	case "object":
		return w.object(v, depth)
	default:
		return w.unheld(anyValue)
	}
}

// stringRule returns the rule of a schema of strings.
func (w *Writer) stringRule(v *rawjson.Value) string {
	from, to, ok := w.bounds(v, "minLength", "maxLength")
	if !ok {
		return "string"
	}
	return w.rule(append(appendTimes([]byte(`"\"" char`), from, to), ` "\""`...))
}

// unbounded is the upper bound of what has none.
const unbounded = -1

// bounds returns two members of a schema that bound a length. ok reports whether there is a bound.
func (w *Writer) bounds(v *rawjson.Value, least, most string) (from, to int, ok bool) {
	from, to = 0, unbounded
	if n := v.Get(least); n != nil {
		from = w.bound(n, 0)
	}
	if n := v.Get(most); n != nil {
		to = w.bound(n, unbounded)
	}
	if to != unbounded && to < from {
		w.Unheld++
		from, to = 0, unbounded
	}
	return from, to, from > 0 || to != unbounded
}

// bound returns a bound, or otherwise if it is no number that a grammar can have.
func (w *Writer) bound(n *rawjson.Value, otherwise int) int {
	bound, err := strconv.Atoi(n.Text)
	if n.Kind != rawjson.Number || err != nil || bound < 0 || bound > maxRepeat {
		w.Unheld++
		return otherwise
	}
	return bound
}

// appendTimes appends how often what was written last is repeated.
func appendTimes(dst []byte, from, to int) []byte {
	dst = strconv.AppendInt(append(dst, '{'), int64(from), 10)
	dst = append(dst, ',')
	if to != unbounded {
		dst = strconv.AppendInt(dst, int64(to), 10)
	}
	return append(dst, '}')
}

// oneOf returns the rule of some schemas, or of some values.
func (w *Writer) oneOf(all *rawjson.Value, depth int, areSchemas bool) string {
	if all.Kind != rawjson.Array || len(all.Elements) == 0 {
		return w.unheld(anyValue)
	}
	var body []byte
	for i := range all.Elements {
		if i > 0 {
			body = append(body, " | "...)
		}
		if areSchemas {
			body = append(body, w.schema(&all.Elements[i], depth+1)...)
		} else {
			body = appendLiteral(body, &all.Elements[i])
		}
		if len(body) > maxSize {
			return w.unheld(anyValue)
		}
	}
	return w.rule(body)
}

// appendLiteral appends the form of exactly this value.
func appendLiteral(dst []byte, v *rawjson.Value) []byte {
	return appendQuoted(dst, rawjson.View(rawjson.AppendValue(nil, v)))
}

// reference returns the rule of the schema that a reference names.
func (w *Writer) reference(ref *rawjson.Value, depth int) string {
	target := w.find(ref.Text)
	for range maxDepth {
		next := target.Get("$ref")
		if next == nil {
			break
		}
		target = w.find(next.Text)
	}
	if target == nil || target.Get("$ref") != nil || !w.spend(len(w.schemas.known)) {
		return w.unheld(anyValue)
	}
	for i := range w.schemas.known {
		if w.schemas.known[i].schema == target {
			return w.schemas.known[i].rule
		}
	}
	name := w.newName()
	w.schemas.known = append(w.schemas.known, knownSchema{target, name})
	w.define(name, []byte(w.schema(target, depth+1)))
	return name
}

// find returns the schema that a reference within the document names, or nil.
func (w *Writer) find(ref string) *rawjson.Value {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	v := w.schemas.root
	for path != "" && v != nil {
		if path[0] != '/' || !w.spend(1+len(v.Members)) {
			return nil
		}
		name := path[1:]
		if end := strings.IndexByte(name, '/'); end >= 0 {
			name = name[:end]
		}
		path = path[1+len(name):]
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		v = v.Get(name)
	}
	return v
}

// array returns the rule of a schema of arrays.
func (w *Writer) array(v *rawjson.Value, depth int) string {
	from, to, bounded := w.bounds(v, "minItems", "maxItems")
	items := v.Get("items")
	if items == nil && !bounded {
		return "array"
	}
	item := anyValue
	switch {
	case to == 0:
	case items != nil && items.Kind == rawjson.Bool && !items.Bool:
		if from > 0 {
			w.Unheld++
		}
		from, to = 0, 0
	case items != nil:
		item = w.schema(items, depth+1)
	}
	if to == 0 {
		return w.rule([]byte(`"[" w "]"`))
	}
	body := append([]byte(`"[" w (`), item...)
	body = append(body, ` w ("," w `...)
	body = append(body, item...)
	more := unbounded
	if to != unbounded {
		more = to - 1
	}
	body = appendTimes(append(body, " w)"...), max(from-1, 0), more)
	if from > 0 {
		return w.rule(append(body, `) "]"`...))
	}
	return w.rule(append(body, `)? "]"`...))
}
