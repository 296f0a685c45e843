package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// TextFormat is the form of the answer that the client wants; the zero TextFormat is any text.
type TextFormat struct {
	// Name is what the form is called. It is empty for plain text.
	Name        string
	Description string
	// Schema is the JSON schema of the answer, as the client spelled it but for the white space.
	Schema string
	// StrictAt is the place of "strict": true: the client wants no answer rather than one of another form. Else empty.
	StrictAt string
	// Pattern, Grammar and Choices are forms of another kind, of which there is one at most, and then no Schema: a regular
	// expression that the whole answer matches, a grammar in EBNF, and the texts of which the answer is one.
	Pattern, Grammar string
	Choices          []string
}

// maxFormat is the largest form of an answer, in bytes of JSON: it stands in the prompt, in the server's request and, in
// the Responses API, three times in the answer.
const maxFormat = 256 << 10

// formatFields are the members of a format of kind json_schema, which Chat has in an object of their own.
type formatFields struct{ name, description, schema, strict value }

func (v value) formatFields(param string) (f formatFields, err *Error) {
	err = v.members(param, func(key []byte, v value) *Error {
		switch string(key) {
		case "name":
			f.name = v
		case "description":
			f.description = v
		case "schema":
			f.schema = v
		case "strict":
			f.strict = v
		}
		return nil
	})
	return f, err
}

// read reads Chat's response_format, whose members are nested, or the Responses API's text.format.
func (t *TextFormat) read(param string, v value, nested bool) *Error {
	*t = TextFormat{}
	if !v.given() {
		return nil
	}
	if len(v.raw) > maxFormat {
		return tooLong(param, maxFormat)
	}
	kind, inner, err := v.typed(param, nested)
	if err != nil {
		return err
	}
	switch kind {
	case "text":
		return nil
	case "json_object":
		t.Name, t.Schema = kind, `{"type":"object"}`
		return nil
	case "json_schema":
	default:
		return notOneOf(join(param, "type"), kind, "'text', 'json_object', and 'json_schema'")
	}
	if nested {
		param = join(param, kind)
	}
	if !inner.given() {
		return missing(param)
	}
	f, err := inner.formatFields(param)
	if err != nil {
		return err
	}
	return t.readSchema(param, &f)
}

func (t *TextFormat) readSchema(param string, f *formatFields) *Error {
	at := join(param, "name")
	if err := f.name.identifier(at, 64, &t.Name); err != nil {
		return err
	}
	at = join(param, "description")
	if err := f.description.text(at, &t.Description); err != nil {
		return err
	}
	strict := false
	at = join(param, "strict")
	if err := f.strict.boolean(at, &strict); err != nil {
		return err
	}
	if strict {
		t.StrictAt = at
	}
	at = join(param, "schema")
	switch {
	case !f.schema.given():
		return missing(at)
	case f.schema.kind != rawjson.Object:
		return wrongType(at, "an object", f.schema)
	}
	if err := rawjson.Validate(f.schema.raw, MaxSchemaDepth); err != nil {
		return syntaxError(at, "Invalid '"+at+"': ", err)
	}
	t.Schema = f.schema.compact()
	return nil
}
