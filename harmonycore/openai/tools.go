package openai

import (
	"bytes"
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// MaxSchemaDepth is the maximum nesting of arrays and objects in a tool's parameters.
const MaxSchemaDepth = 32

// MaxTools is the maximum length of a request's tools, in bytes of JSON. A schema takes 20 times its size as values and
// up to 90 times as printed text. One of 15 MB would end the VM (RATIONALE.md#76).
const MaxTools = 2 << 20

// toolsFit refuses tools that are longer than [MaxTools].
func (v value) toolsFit(param string) *Error {
	if len(v.raw) > MaxTools {
		return Invalid(param, "Invalid '"+param+"': larger than the limit of "+strconv.Itoa(MaxTools)+" bytes.")
	}
	return nil
}

// Tool is a tool that the client offers to the model: a function, or a custom tool, whose input is plain text.
type Tool struct {
	Name        string
	Description string
	Custom      bool
	// Grammar is the form of a custom tool's input.
	Grammar InputGrammar
	// LocalShell reports whether this is local_shell of the Responses API, which the model sees as a function.
	LocalShell bool
	// Search reports whether this is the client's tool_search of the Responses API, which the model sees as a function.
	Search bool
	// Deferred reports whether the model is not shown the tool until a search has found it. No tool of a decoded request
	// has it.
	Deferred bool
	// BuiltIn reports whether this is a tool that gpt-oss is trained with. It then has only a Name.
	BuiltIn bool
	// Namespace is the group of the Responses API that the tool is in, or empty. NamespaceDescription is the group's
	// description.
	Namespace, NamespaceDescription string
	// Parameters is the JSON schema as the client spelled it, or nil if there is none.
	Parameters []byte
	// Strict asks that the arguments of every call match the schema.
	Strict bool
}

// kind returns the tool's type in a tool choice.
func (t *Tool) kind() string {
	switch {
	case t.BuiltIn:
		return typeBuiltIn
	case t.Custom:
		return typeCustom
	}
	return typeFunction
}

// toolNames holds the names of a request's tools, each as namespace, dot and name. Neither of them can have a dot in
// it.
type toolNames map[string]bool

// add adds a tool's name. It refuses a name that another tool of the same namespace has, because a call of it would be
// ambiguous.
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
		return Invalid(param, "Invalid '"+param+"': another tool"+where+" is called '"+clip(t.Name)+
			"' too. Give each tool a name of its own.")
	}
	(*n)[name] = true
	return nil
}

// functionName reads the name of a declared tool, which becomes a word of a header.
func (v value) functionName(param string, dst *string) *Error { return v.identifier(param, 128, dst) }

// identifier reads a name of the API's pattern with at most maxLength characters.
func (v value) identifier(param string, maxLength int, dst *string) *Error {
	if !v.given() {
		return missing(param)
	}
	if err := v.text(param, dst); err != nil {
		return err
	}
	ok := len(*dst) > 0 && len(*dst) <= maxLength
	for i := 0; ok && i < len(*dst); i++ {
		c := (*dst)[i]
		ok = c == '_' || c == '-' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
	}
	if !ok {
		return Invalid(param, "Invalid '"+param+"': expected 1 to "+strconv.Itoa(maxLength)+
			" letters, digits, underscores or dashes, but got '"+clip(*dst)+"' instead.")
	}
	return nil
}

// calledName reads the name in a call of the history. The call may come from another model with its own rules. The name
// must still be one word, because it becomes a part of a header.
func (v value) calledName(param string, dst *string) *Error {
	if !v.given() {
		return missing(param)
	}
	if err := v.text(param, dst); err != nil {
		return err
	}
	const maxLength = 256
	ok := len(*dst) > 0 && len(*dst) <= maxLength
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
