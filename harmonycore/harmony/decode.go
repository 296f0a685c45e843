package harmony

import (
	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// maxNesting is the greatest depth of arrays and objects in a conversation. It is one less than elsewhere, as in the
// reference.
const maxNesting = rawjson.MaxDepth - 1

// DecodeConversation reads a conversation in the reference's JSON (docs/harmony-format.md#json). It ignores unknown
// fields and treats null as absent. A known field that comes twice is an error. The error is an [*InputError].
func DecodeConversation(data []byte) (*Conversation, error) {
	if err := rawjson.Validate(data, maxNesting); err != nil {
		return nil, &InputError{Message: err.Error()}
	}
	var d decoder
	c := &Conversation{}
	seen := false
	d.object(rawValue(data), "conversation", func(key string, v raw) {
		if key == "messages" {
			d.once(&seen, key)
			d.numbers(v.text)
			d.array(v, key, func(v raw) { c.Messages = append(c.Messages, d.message(v)) })
		}
	})
	d.need(seen, "messages")
	if d.err != nil {
		return nil, d.err
	}
	return c, nil
}

// raw is a JSON value as written in a validated text. A string comes without its quotes.
type raw struct {
	text []byte
	kind jsonparser.ValueType
}

func rawValue(data []byte) raw {
	text, kind, _, err := jsonparser.Get(data)
	if err != nil {
		return raw{}
	}
	return raw{text, kind}
}

func (v raw) null() bool { return v.kind == jsonparser.Null }

// decoder keeps the first error. Values read after an error are discarded.
type decoder struct{ err error }

func (d *decoder) fail(message string) {
	if d.err == nil {
		d.err = &InputError{Message: message}
	}
}

func (d *decoder) once(seen *bool, field string) {
	if *seen {
		d.fail("duplicate field `" + field + "`")
	}
	*seen = true
}

func (d *decoder) need(seen bool, field string) {
	if !seen {
		d.fail("missing field `" + field + "`")
	}
}

func (d *decoder) object(v raw, what string, visit func(key string, v raw)) {
	if v.kind != jsonparser.Object {
		d.fail("invalid type: expected " + what)
		return
	}
	err := jsonparser.ObjectEach(v.text, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		visit(string(key), raw{value, kind})
		return d.err
	})
	if err != nil {
		d.fail("unreadable " + what)
	}
}

func (d *decoder) array(v raw, what string, visit func(v raw)) {
	if v.kind != jsonparser.Array {
		d.fail("invalid type: expected a sequence in " + what)
		return
	}
	_, err := jsonparser.ArrayEach(v.text, func(value []byte, kind jsonparser.ValueType, _ int, _ error) {
		if d.err == nil {
			visit(raw{value, kind})
		}
	})
	if err != nil {
		d.fail("unreadable " + what)
	}
}

func (d *decoder) str(v raw, field string) string {
	if v.kind != jsonparser.String {
		d.fail("invalid type: expected a string in " + field)
		return ""
	}
	return rawjson.Unescape(v.text)
}

// text reads an optional string field.
func (d *decoder) text(to *Optional, seen *bool, v raw, field string) {
	d.once(seen, field)
	if !v.null() {
		*to = Some(d.str(v, field))
	}
}

// numbers refuses any number in a validated text that is out of a double's range.
func (d *decoder) numbers(text []byte) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			i++
		case c == '-' || isDigit(c):
			from := i
			for i < len(text) && (isDigit(text[i]) || text[i] == '-' || text[i] == '+' || text[i] == '.' ||
				text[i]|0x20 == 'e') {
				i++
			}
			if _, ok := readDouble(string(text[from:i])); !ok {
				d.fail("number out of range")
				return
			}
		default:
			i++
		}
	}
}

func (d *decoder) message(v raw) Message {
	var m Message
	var role, name, recipient, channel, typ, content bool
	d.object(v, "message", func(key string, v raw) {
		switch key {
		case "role":
			d.once(&role, key)
			if m.Role = RoleOf(d.str(v, key)); m.Role == 0 {
				d.fail("unknown role: " + string(v.text))
			}
		case "name":
			d.text(&m.Name, &name, v, key)
		case "recipient":
			d.text(&m.Recipient, &recipient, v, key)
		case "channel":
			d.text(&m.Channel, &channel, v, key)
		case "content_type":
			d.text(&m.ContentType, &typ, v, key)
		case "content":
			d.once(&content, key)
			if v.kind == jsonparser.String {
				m.Content = Text(d.str(v, key))
				return
			}
			d.array(v, key, func(v raw) { m.Content = append(m.Content, d.content(v)) })
		}
	})
	d.need(role, "role")
	d.need(content, "content")
	return m
}

func (d *decoder) content(v raw) Content {
	var kind Optional
	var seen bool
	d.object(v, "content", func(key string, v raw) {
		if key == "type" {
			d.text(&kind, &seen, v, key)
		}
	})
	switch kind.Value {
	case "text":
		var text Optional
		var seen bool
		d.object(v, "text", func(key string, v raw) {
			if key == "text" {
				d.once(&seen, key)
				text = Some(d.str(v, key))
			}
		})
		d.need(seen, "text")
		return Content{Text: text.Value}
	case "system_content":
		return Content{System: d.system(v)}
	case "developer_content":
		return Content{Developer: d.developer(v)}
	}
	d.fail("unknown variant of content")
	return Content{}
}
