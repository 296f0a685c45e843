package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// toolFields holds the members of a tool of the Responses API before its type is known.
type toolFields struct {
	kind                                                 string
	name, description, parameters, strict, format, tools value
}

func (v value) toolFields(at string) (f toolFields, err *Error) {
	err = v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "type":
			return v.text(join(at, "type"), &f.kind)
		case "name":
			f.name = v
		case "description":
			f.description = v
		case "parameters":
			f.parameters = v
		case "strict":
			f.strict = v
		case "format":
			f.format = v
		case "tools":
			f.tools = v
		}
		return nil
	})
	if err == nil && f.kind == "" {
		err = missing(join(at, "type"))
	}
	return f, err
}

// ShownTool reports whether the model is shown tools of a type. A server would have to run all others for the client.
func ShownTool(kind string) bool {
	switch kind {
	case typeFunction, typeCustom, typeLocalShell, typeBuiltIn, "namespace":
		return true
	}
	return false
}

// readTools reads functions and custom tools, alone or in namespaces, the local shell, and built-in tools. Tools that
// OpenAI runs itself, such as web_search, are ignored and not echoed: agents send them to every server, and fail if
// they are refused.
func (r *ResponsesRequest) readTools(v value) *Error {
	r.Tools, r.BuiltIns, r.Echo.Tools, r.localShell, r.names = nil, nil, "", false, nil
	if known := recall(r.memory, v); known != nil {
		r.Tools, r.Echo.Tools = known.Tools, known.Echo
		return nil
	}
	if !v.given() {
		return nil
	}
	if err := v.toolsFit("tools"); err != nil {
		return err
	}
	echo := []byte{'['}
	err := v.elements("tools", func(_ int, at string, v value) *Error {
		f, err := v.toolFields(at)
		if err != nil {
			return err
		}
		if !ShownTool(f.kind) || f.kind == typeLocalShell && r.localShell { // a second local shell is ignored
			return nil
		}
		if len(echo) > 1 {
			echo = append(echo, ',')
		}
		switch f.kind {
		case typeFunction:
			echo = appendFunctionEcho(echo, &f)
			return r.readFunction(at, Tool{}, &f)
		case typeCustom:
			echo = append(echo, v.compact()...)
			return r.readCustom(at, Tool{}, &f)
		case typeLocalShell:
			echo = append(echo, `{"type":"local_shell"}`...)
			return r.readLocalShell(at)
		case typeBuiltIn:
			echo = append(echo, v.compact()...)
			return r.readBuiltIn(at, &f)
		default:
			echo = append(echo, v.compact()...)
			return r.readNamespace(at, &f)
		}
	})
	r.Echo.Tools = string(append(echo, ']'))
	r.names = nil
	return err
}

func (r *ResponsesRequest) readNamespace(at string, f *toolFields) *Error {
	var tool Tool // the members that all its tools share
	if err := f.name.functionName(join(at, "name"), &tool.Namespace); err != nil {
		return err
	}
	if err := f.description.text(join(at, "description"), &tool.NamespaceDescription); err != nil {
		return err
	}
	if !f.tools.given() {
		return missing(join(at, "tools"))
	}
	return f.tools.elements(join(at, "tools"), func(_ int, at string, v value) *Error {
		f, err := v.toolFields(at)
		if err != nil {
			return err
		}
		switch f.kind {
		case typeFunction:
			return r.readFunction(at, tool, &f)
		case typeCustom:
			return r.readCustom(at, tool, &f)
		default:
			return notOneOf(join(at, "type"), f.kind, "'function' and 'custom'")
		}
	})
}

// readFunction reads a function. tool holds the members of its namespace.
func (r *ResponsesRequest) readFunction(at string, tool Tool, f *toolFields) *Error {
	if err := f.name.functionName(join(at, "name"), &tool.Name); err != nil {
		return err
	}
	if err := f.description.text(join(at, "description"), &tool.Description); err != nil {
		return err
	}
	if err := f.strict.boolean(join(at, "strict"), &tool.Strict); err != nil {
		return err
	}
	if err := f.parameters.schema(join(at, "parameters"), &tool); err != nil {
		return err
	}
	r.Tools = append(r.Tools, tool)
	return r.names.add(join(at, "name"), &tool)
}

func (r *ResponsesRequest) readCustom(at string, tool Tool, f *toolFields) *Error {
	tool.Custom = true
	if err := f.name.functionName(join(at, "name"), &tool.Name); err != nil {
		return err
	}
	if err := f.description.text(join(at, "description"), &tool.Description); err != nil {
		return err
	}
	if err := f.format.readInputFormat(join(at, "format"), false, &tool.Grammar); err != nil {
		return err
	}
	r.Tools = append(r.Tools, tool)
	return r.names.add(join(at, "name"), &tool)
}

// appendFunctionEcho writes every member, because some clients require all of them.
func appendFunctionEcho(dst []byte, f *toolFields) []byte {
	dst = append(dst, `{"type":"function","description":`...)
	dst = append(dst, f.description.compactOrNull()...)
	dst = append(dst, `,"name":`...)
	dst = append(dst, f.name.compactOrNull()...)
	dst = append(dst, `,"parameters":`...)
	dst = append(dst, f.parameters.compactOrNull()...)
	dst = append(dst, `,"strict":`...)
	dst = append(dst, f.strict.compactOrNull()...)
	return append(dst, '}')
}

func (v value) compactOrNull() string {
	if v.kind <= rawjson.Null {
		return "null"
	}
	return v.compact()
}
