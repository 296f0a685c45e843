package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// TextFormat is the form of the answer that the client asks for. The zero value is any text.
type TextFormat struct {
	// Name is the name of the form. It is empty for plain text.
	Name        string
	Description string
	// Schema is the JSON schema of the answer, as the client spelled it but without white space.
	Schema string
	// StrictAt is the place of "strict": true, or empty. A strict form is enforced or the request is refused.
	StrictAt string
	// Pattern, Grammar and Choices are other kinds of forms. At most one of them is set, and then Schema is empty. Pattern
	// is a regular expression that the whole answer matches. Grammar is a grammar in EBNF. Choices are texts, one of which
	// is the answer.
	Pattern, Grammar string
	Choices          []string
}

// FormatJSONObject is the name of a form that any JSON object has. anyObject is its schema.
const (
	FormatJSONObject = "json_object"
	anyObject        = `{"type":"object"}`
)

// AnyObject reports whether every JSON object has the form.
func (t *TextFormat) AnyObject() bool { return t.Name == FormatJSONObject && t.Schema == anyObject }

// maxFormat is the maximum length of a form, in bytes of JSON. The form goes into the prompt, into the server's request
// and, in the Responses API, three times into the answer.
const maxFormat = 256 << 10

// formatFields holds the members of a format of type json_schema. Chat nests them in an object.
type formatFields struct{ name, description, schema, strict value }

func (v value) formatFields(param string) (f formatFields, err *Error) {
	err = v.members(param, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
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

// read reads Chat's response_format, whose members are nested, or text.format of Responses.
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
	case FormatJSONObject:
		t.Name, t.Schema = FormatJSONObject, anyObject
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
	if !f.schema.given() {
		return missing(at)
	}
	return t.setSchema(at, f.schema)
}

func (t *TextFormat) setSchema(at string, schema value) *Error {
	if schema.kind != rawjson.Object {
		return wrongType(at, "an object", schema)
	}
	if err := rawjson.Validate(schema.raw, MaxSchemaDepth); err != nil {
		return syntaxError(at, "Invalid '"+at+"': ", err)
	}
	t.Schema = schema.compact()
	return nil
}
