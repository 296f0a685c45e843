package openai

import (
	"bytes"
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// MaxSchemaDepth is the deepest nesting of arrays and objects in a tool's parameters.
const MaxSchemaDepth = 32

// MaxTools is the most that a request's tools may take, in bytes of JSON. A schema costs twenty times its size as values
// and up to ninety times as printed text, so that one of 15 MB would end the VM (RATIONALE.md#76).
const MaxTools = 2 << 20

// toolsFit refuses tools beyond MaxTools.
func (v value) toolsFit(param string) *Error {
	if len(v.raw) > MaxTools {
		return Invalid(param, "Invalid '"+param+"': larger than the limit of "+strconv.Itoa(MaxTools)+" bytes.")
	}
	return nil
}

// Tool is what the client offers to the model: a function, or a custom tool, whose input is plain text.
type Tool struct {
	Name        string
	Description string
	Custom      bool
	// Grammar is what a custom tool's input shall look like.
	Grammar InputGrammar
	// LocalShell is the Responses API's tool of that name, shown as a function.
	LocalShell bool
	// Namespace is the Responses API's group that the function stands in; empty for none. NamespaceDescription is what
	// that group says of itself.
	Namespace, NamespaceDescription string
	// Parameters is its JSON schema as the client has spelled it; nil when there is none.
	Parameters []byte
	// Strict asks that the arguments of every call have the schema.
	Strict bool
}

// toolNames are the names of a request's tools, each with its namespace: no dot is in either of them.
type toolNames map[string]bool

// add takes a tool's name, and refuses one that another tool of the same namespace has: a call of it would mean either.
func (n *toolNames) add(param string, t *Tool) *Error {
	if *n == nil {
		*n = toolNames{}
	}
	name := t.Namespace + "." + t.Name
	if (*n)[name] {
		where := ""
		if t.Namespace != "" {
			where = " of the namespace '" + clip(t.Namespace) + "'"
		}
		return Invalid(param, "Invalid '"+param+"': another tool"+where+" is called '"+clip(t.Name)+"' too. Give each tool a name of its own.")
	}
	(*n)[name] = true
	return nil
}

// functionName reads a tool's name where one is declared, which becomes a word of a header.
func (v value) functionName(param string, dst *string) *Error { return v.identifier(param, 128, dst) }

// identifier reads a name of the API's pattern, of so many characters at most.
func (v value) identifier(param string, most int, dst *string) *Error {
	if !v.given() {
		return missing(param)
	}
	if err := v.text(param, dst); err != nil {
		return err
	}
	ok := len(*dst) > 0 && len(*dst) <= most
	for i := 0; ok && i < len(*dst); i++ {
		c := (*dst)[i]
		ok = c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
	}
	if !ok {
		return Invalid(param, "Invalid '"+param+"': expected 1 to "+strconv.Itoa(most)+
			" letters, digits, underscores or dashes, but got '"+clip(*dst)+"' instead.")
	}
	return nil
}

// calledName reads the name in a call of the past, which may come from another model and its own rules. It must
// still be one word, since it becomes part of a header.
func (v value) calledName(param string, dst *string) *Error {
	if !v.given() {
		return missing(param)
	}
	if err := v.text(param, dst); err != nil {
		return err
	}
	const most = 256
	ok := len(*dst) > 0 && len(*dst) <= most
	for i := 0; ok && i < len(*dst); i++ {
		ok = (*dst)[i] > ' ' && (*dst)[i] != 0x7F
	}
	if !ok {
		return Invalid(param, "Invalid '"+param+"': expected 1 to 256 bytes without spaces.")
	}
	return nil
}

// schema reads a function's parameters.
func (v value) schema(param string, tool *Tool) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != rawjson.Object {
		return wrongType(param, "an object", v)
	}
	if err := rawjson.Validate(v.raw, MaxSchemaDepth); err != nil {
		return syntaxError(param, "Invalid '"+param+"': ", err)
	}
	tool.Parameters = bytes.Clone(v.raw)
	return nil
}
