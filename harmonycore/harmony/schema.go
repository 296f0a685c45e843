package harmony

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// MaxSchemaDepth is the greatest depth of nested schemas in a tool's parameters. The reference has no limit.
const MaxSchemaDepth = 32

// The indents of nested types (docs/harmony-format.md#schemas).
const (
	propertyIndent = 4
	variantIndent  = 3
)

// schemaWriter prints JSON schemas as TypeScript types (docs/harmony-format.md#schemas). It keeps the first error;
// output after an error is useless.
type schemaWriter struct {
	dst []byte
	err error
}

func (w *schemaWriter) put(s string) { w.dst = append(w.dst, s...) }

func (w *schemaWriter) indent(n int) {
	for range n {
		w.dst = append(w.dst, ' ')
	}
}

func isNull(v *rawjson.Value) bool { return v.Kind == rawjson.Null }

// str returns the member key of v if it is a string.
func str(v *rawjson.Value, key string) (string, bool) {
	if m := v.Get(key); m != nil && m.Kind == rawjson.String {
		return m.Text, true
	}
	return "", false
}

// list returns the member key of v if it is an array.
func list(v *rawjson.Value, key string) ([]rawjson.Value, bool) {
	if m := v.Get(key); m != nil && m.Kind == rawjson.Array {
		return m.Elements, true
	}
	return nil, false
}

// typeOf prints the type of one schema. depth counts the schemas around it and itself.
func (w *schemaWriter) typeOf(v *rawjson.Value, indent, depth int) {
	if depth > MaxSchemaDepth && w.err == nil {
		w.err = &RenderError{Kind: SchemaTooDeep, Message: "tool schema nested deeper than 32 levels"}
	}
	if w.err != nil {
		return
	}
	if variants, ok := list(v, "oneOf"); ok {
		for i := range variants {
			w.put("\n")
			w.variant(&variants[i], indent, depth)
			description, described := str(&variants[i], "description")
			w.note(&variants[i], description, described, false)
		}
		return
	}
	if words, ok := list(v, "type"); ok && w.union(words) {
		return
	}
	kind, _ := str(v, "type")
	switch kind {
	case "object":
		w.object(v, indent, depth)
	case "string":
		w.enum(v)
	case "number", "integer":
		w.put("number")
	case "boolean":
		w.put("boolean")
	case "array":
		if items := v.Get("items"); items != nil {
			w.typeOf(items, indent, depth+1)
			w.put("[]")
		} else {
			w.put("Array<any>")
		}
	default:
		w.put("any")
	}
}

func (w *schemaWriter) variant(v *rawjson.Value, indent, depth int) {
	w.indent(indent)
	w.put(" | ")
	from := len(w.dst)
	w.typeOf(v, indent+variantIndent, depth+1)
	w.nullable(v, from)
}

// nullable appends " | null" where it is wanted. As the reference does, it looks for "null" in everything printed since
// from, and any word that contains it counts.
func (w *schemaWriter) nullable(v *rawjson.Value, from int) {
	n := v.Get("nullable")
	if n == nil || n.Kind != rawjson.Bool || !n.Bool || bytes.Contains(w.dst[from:], []byte("null")) {
		return
	}
	w.put(" | null")
}

func (w *schemaWriter) union(words []rawjson.Value) bool {
	first := true
	for i := range words {
		if words[i].Kind != rawjson.String {
			continue
		}
		if !first {
			w.put(" | ")
		}
		first = false
		if words[i].Text == "integer" {
			w.put("number")
		} else {
			w.put(words[i].Text)
		}
	}
	return !first
}

func (w *schemaWriter) enum(v *rawjson.Value) {
	values, _ := list(v, "enum")
	first := true
	for i := range values {
		if values[i].Kind != rawjson.String {
			continue
		}
		if !first {
			w.put(" | ")
		}
		first = false
		w.put(`"`)
		w.put(values[i].Text)
		w.put(`"`)
	}
	if first {
		w.put("string")
	}
}

func (w *schemaWriter) object(v *rawjson.Value, indent, depth int) {
	if description, ok := str(v, "description"); ok {
		w.comment(indent, description)
	}
	w.put("{\n")
	if properties := v.Get("properties"); properties != nil && properties.Kind == rawjson.Object {
		required, _ := list(v, "required")
		names := make(map[string]bool, len(required))
		for i := range required {
			if required[i].Kind == rawjson.String {
				names[required[i].Text] = true
			}
		}
		for i := range properties.Members {
			p := &properties.Members[i]
			w.property(p.Key, &p.Value, names[p.Key], indent, depth)
		}
	}
	w.indent(indent)
	w.put("}")
}

func (w *schemaWriter) comment(indent int, text string) {
	w.indent(indent)
	w.put("// ")
	w.put(text)
	w.put("\n")
}

func (w *schemaWriter) property(key string, v *rawjson.Value, required bool, indent, depth int) {
	if title, ok := str(v, "title"); ok {
		w.comment(indent, title)
		w.indent(indent)
		w.put("//\n")
	}
	description, described := str(v, "description")
	hasOneOf := v.Get("oneOf") != nil
	if described && !hasOneOf {
		w.comment(indent, description)
	}
	if examples, ok := list(v, "examples"); ok && len(examples) > 0 {
		w.comment(indent, "Examples:")
		for i := range examples {
			if examples[i].Kind == rawjson.String {
				w.comment(indent, `- "`+examples[i].Text+`"`)
			}
		}
	}
	variants, isOneOf := list(v, "oneOf")
	printed := false
	if isOneOf {
		printed = described && !startsWithDescription(variants, description)
		if printed {
			w.comment(indent, description)
		}
		if def := v.Get("default"); def != nil {
			w.indent(indent)
			w.put("// ")
			w.defaultOf(v, def, true)
			w.put("\n")
		}
	}
	w.indent(indent)
	w.put(key)
	if !required {
		w.put("?")
	}
	if isOneOf {
		w.put(":\n")
		for i := range variants {
			w.variant(&variants[i], indent, depth)
			text, ok := str(&variants[i], "description")
			if i == 0 && printed || described && text == description {
				ok = false
			}
			w.note(&variants[i], text, ok, true)
			w.put("\n")
		}
		w.indent(indent)
		w.put(",\n")
		return
	}
	w.put(": ")
	from := len(w.dst)
	w.typeOf(v, indent+propertyIndent, depth+1)
	w.nullable(v, from)
	w.put(",")
	if def := v.Get("default"); def != nil && !hasOneOf {
		w.put(" // ")
		w.defaultOf(v, def, true)
	}
	w.put("\n")
}

func startsWithDescription(variants []rawjson.Value, description string) bool {
	if len(variants) == 0 {
		return false
	}
	first, ok := str(&variants[0], "description")
	return ok && first == description
}

// note prints the description and the default of a variant after it.
func (w *schemaWriter) note(v *rawjson.Value, description string, described, bareEnum bool) {
	def := v.Get("default")
	if !described && def == nil {
		return
	}
	w.put(" //")
	if described {
		w.put(" ")
		w.put(description)
	}
	if def != nil {
		w.put(" ")
		w.defaultOf(v, def, bareEnum)
	}
}

// defaultOf prints a default. A string stands in raw quotes. A value of an enum stands bare in a property (bareEnum)
// and as JSON in a free-standing oneOf.
func (w *schemaWriter) defaultOf(v, def *rawjson.Value, bareEnum bool) {
	w.put("default: ")
	values, _ := list(v, "enum")
	switch {
	case def.Kind == rawjson.String && len(values) == 0:
		w.put(`"`)
		w.put(def.Text)
		w.put(`"`)
	case def.Kind == rawjson.String && bareEnum:
		w.put(def.Text)
	default:
		w.json(def, 0)
	}
}
