package harmony

import "github.com/harmonyedge/harmonyedge/harmonycore/jsontext"

// AppendMessages appends messages of texts, as the parsers make them, as an array in the reference's JSON:
// absent fields are left out, and one text alone is a plain string.
func AppendMessages(dst []byte, messages []Message) []byte {
	dst = append(dst, '[')
	for i := range messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendMessageJSON(dst, &messages[i])
	}
	return append(dst, ']')
}

func appendMessageJSON(dst []byte, m *Message) []byte {
	dst = jsontext.AppendString(append(dst, `{"role":`...), m.Role.String())
	dst = appendField(dst, "name", m.Name)
	dst = appendField(dst, "recipient", m.Recipient)
	dst = append(dst, `,"content":`...)
	if len(m.Content) == 1 {
		dst = jsontext.AppendString(dst, m.Content[0].Text)
	} else {
		dst = append(dst, '[')
		for i := range m.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsontext.AppendString(append(dst, `{"type":"text","text":`...), m.Content[i].Text)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	dst = appendField(dst, "channel", m.Channel)
	dst = appendField(dst, "content_type", m.ContentType)
	return append(dst, '}')
}

func appendField(dst []byte, name string, value Optional) []byte {
	if !value.Set {
		return dst
	}
	dst = append(append(append(dst, ',', '"'), name...), '"', ':')
	return jsontext.AppendString(dst, value.Value)
}
