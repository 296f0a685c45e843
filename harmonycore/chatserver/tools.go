package chatserver

import "github.com/harmonyedge/harmonyedge/harmonycore/openai"

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description []string
	// Parameters is a JSON schema, or empty if there are none.
	Parameters []byte
	// Custom reports whether the function stands for a tool that takes text.
	Custom, Strict bool
}

// The schemas of functions without parameters, and of those that stand for tools that take text. Some templates look
// for properties without asking whether there are parameters.
const (
	noParameters = `{"type":"object","properties":{}}`
	oneInput     = `{"type":"object","properties":{"` + InputMember + `":{"type":"string"}},"required":["` + InputMember +
		`"],"additionalProperties":false}`
)

// AppendTools appends an array of tools.
func AppendTools(dst []byte, tools []Tool) []byte {
	var l list
	dst = append(dst, '[')
	for i := range tools {
		t := &tools[i]
		dst = appendMember(l.next(dst), `{"type":"function","function":{"name":`, t.Name)
		if len(t.Description) > 0 {
			dst = appendText(append(dst, `,"description":`...), t.Description, betweenItems)
		}
		dst = append(dst, `,"parameters":`...)
		switch {
		case t.Custom:
			dst = append(dst, oneInput...)
		case len(t.Parameters) > 0:
			dst = append(dst, t.Parameters...)
		default:
			dst = append(dst, noParameters...)
		}
		if t.Strict {
			dst = append(dst, `,"strict":true`...)
		}
		dst = append(dst, "}}"...)
	}
	return append(dst, ']')
}

// AppendNamedChoice appends the choice of one function.
func AppendNamedChoice(dst []byte, name string) []byte {
	return append(appendMember(dst, `{"type":"function","function":{"name":`, name), "}}"...)
}

// AppendFormat appends the form of the answer.
func AppendFormat(dst []byte, f *openai.TextFormat) []byte {
	if f.AnyObject() {
		return append(dst, `{"type":"json_object"}`...)
	}
	dst = appendMember(dst, `{"type":"json_schema","json_schema":{"name":`, f.Name)
	if f.Description != "" {
		dst = appendMember(dst, `,"description":`, f.Description)
	}
	dst = append(append(dst, `,"schema":`...), f.Schema...)
	if f.StrictAt != "" {
		dst = append(dst, `,"strict":true`...)
	}
	return append(dst, "}}"...)
}
