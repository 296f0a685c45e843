package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// partKind is a content part that carries text: its type, and the member with the text.
type partKind struct{ name, field string }

// The parts that each place allows, in the order in which error messages list them.
var (
	chatParts      = partSet{{"text", "text"}}
	assistantParts = partSet{{"text", "text"}, {"refusal", "refusal"}}
	itemParts      = partSet{{"input_text", "text"}, {"output_text", "text"}, {"text", "text"}, {"refusal", "refusal"}}
	reasoningParts = partSet{{"reasoning_text", "text"}, {"text", "text"}}
	summaryParts   = partSet{{"summary_text", "text"}}
	agentParts     = partSet{{"input_text", "text"}, {"output_text", "text"}, {"text", "text"},
		{"encrypted_content", "encrypted_content"}}
)

type partSet []partKind

func (s partSet) String() string {
	out := ""
	for i, p := range s {
		if i > 0 {
			out += ", "
		}
		out += "'" + p.name + "'"
	}
	return out
}

// readParts reads a content: a string, or an array of parts that carry text. The texts lie in the body. Parts that a
// text model cannot read are counted in d and replaced by notes. If d is nil they are an error.
func (v value) readParts(param string, allowed partSet, d *Dropped) ([]string, *Error) {
	switch v.kind {
	case rawjson.String:
		return []string{rawjson.Borrow(v.raw)}, nil
	case rawjson.Array:
	default:
		return nil, wrongType(param, "one of a string or an array of objects", v)
	}
	var parts []string
	err := v.elements(param, func(i int, at string, v value) *Error {
		if i >= MaxEntries {
			return tooManyTurns(param)
		}
		part, err := v.readPart(at, allowed, d)
		parts = append(parts, part)
		return err
	})
	return parts, err
}

func (v value) readPart(at string, allowed partSet, d *Dropped) (string, *Error) {
	var kind, out string
	var text, refusal, encrypted value
	err := v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "type":
			return v.text(join(at, "type"), &kind)
		case "text":
			text = v
		case "refusal":
			refusal = v
		case "encrypted_content":
			encrypted = v
		case "prompt_cache_breakpoint":
			return v.readBreakpoint(join(at, "prompt_cache_breakpoint"))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if kind == "" {
		return "", missing(join(at, "type"))
	}
	for _, p := range allowed {
		if p.name != kind {
			continue
		}
		from := text
		switch p.field {
		case "refusal":
			from = refusal
		case "encrypted_content":
			from = encrypted
		}
		if !from.given() {
			return "", missing(join(at, p.field))
		}
		err := from.borrow(join(at, p.field), &out)
		return out, err
	}
	note := OmissionNote(kind)
	if note == "" {
		return "", notOneOf(at, kind, allowed.String())
	}
	if d == nil || d.First == nil {
		err := Unsupported(at, "Unsupported content: this model reads text only, not '"+kind+"'. Send parts of these types: "+
			allowed.String()+".")
		if d == nil {
			return "", err
		}
		d.First = err
	}
	d.Count++
	return note, nil
}
