package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// toolFields holds the members of a tool of the Responses API before its type is known.
type toolFields struct {
	kind                                                            string
	name, description, parameters, strict, format, tools, execution value
	deferred                                                        value
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
		case "execution":
			f.execution = v
		case "defer_loading":
			f.deferred = v
		}
		return nil
	})
	if err == nil && f.kind == "" {
		err = missing(join(at, "type"))
	}
	if err == nil && f.kind == typeToolSearch {
		err = f.execution.oneOf(join(at, "execution"), executionClient, "server")
	}
	return f, err
}

// ShownTool reports whether the model is shown a tool of this type and execution. A server would have to run all others
// for the client.
func ShownTool(kind, execution string) bool {
	switch kind {
	case typeFunction, typeCustom, typeLocalShell, typeBuiltIn, "namespace":
		return true
	case typeToolSearch:
		return execution == executionClient
	}
	return false
}

// toolReader reads tools: functions and custom tools, alone or in namespaces, the local shell, the client's search for
// tools, and built-in tools.
type toolReader struct {
	tools    []Tool
	builtIns []string
	// names holds the names of tools. It is nil for a list in which names may come again.
	names *toolNames
	// localShell and search report whether tools has these.
	localShell, search bool
}

// shows reports whether the model is shown a tool. Tools that OpenAI runs itself, such as web_search, are ignored and
// not echoed: agents send them to every server, and fail if they are refused. A second local shell is ignored, and a
// second search.
func (r *toolReader) shows(f *toolFields) bool {
	execution := ""
	if f.execution.kind == rawjson.String {
		execution = rawjson.Unescape(f.execution.raw)
	}
	return ShownTool(f.kind, execution) && (f.kind != typeLocalShell || !r.localShell) &&
		(f.kind != typeToolSearch || !r.search)
}

// read reads a tool that the model is shown.
func (r *toolReader) read(at string, f *toolFields) *Error {
	switch f.kind {
	case typeFunction:
		return r.readFunction(at, Tool{}, f)
	case typeCustom:
		return r.readCustom(at, Tool{}, f)
	case typeLocalShell:
		return r.readLocalShell(at)
	case typeToolSearch:
		return r.readToolSearch(at, f)
	case typeBuiltIn:
		return r.readBuiltIn(at, f)
	default:
		return r.readNamespace(at, f)
	}
}

// add adds a tool. name is the place of its name.
func (r *toolReader) add(name string, tool *Tool) *Error {
	r.tools = append(r.tools, *tool)
	if r.names == nil {
		return nil
	}
	return r.names.add(name, tool)
}

// readTools reads the request's own tools.
func (r *ResponsesRequest) readTools(v value) *Error {
	r.Tools, r.BuiltIns, r.Echo.Tools, r.toolBytes = nil, nil, "", len(v.raw)
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
	reader := toolReader{names: &toolNames{}}
	err := v.elements("tools", func(_ int, at string, v value) *Error {
		f, err := v.toolFields(at)
		if err != nil || !reader.shows(&f) {
			return err
		}
		if len(echo) > 1 {
			echo = append(echo, ',')
		}
		switch f.kind {
		case typeFunction:
			echo = appendFunctionEcho(echo, &f)
		case typeLocalShell:
			echo = append(echo, `{"type":"local_shell"}`...)
		default:
			echo = append(echo, v.compact()...)
		}
		return reader.read(at, &f)
	})
	r.Tools, r.BuiltIns, r.Echo.Tools = reader.tools, reader.builtIns, string(append(echo, ']'))
	return err
}

func (r *toolReader) readNamespace(at string, f *toolFields) *Error {
	var tool Tool // the members that all its tools share
	if err := f.name.functionName(join(at, "name"), &tool.Namespace); err != nil {
		return err
	}
	if tool.Namespace == plainNamespace {
		tool.Namespace = "" // that is where every function is, to the model
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
func (r *toolReader) readFunction(at string, tool Tool, f *toolFields) *Error {
	if err := f.name.functionName(join(at, "name"), &tool.Name); err != nil {
		return err
	}
	if err := f.description.text(join(at, "description"), &tool.Description); err != nil {
		return err
	}
	if err := f.strict.boolean(join(at, "strict"), &tool.Strict); err != nil {
		return err
	}
	if err := f.deferred.boolean(join(at, "defer_loading"), &tool.Deferred); err != nil {
		return err
	}
	if err := f.parameters.schema(join(at, "parameters"), &tool); err != nil {
		return err
	}
	return r.add(join(at, "name"), &tool)
}

func (r *toolReader) readCustom(at string, tool Tool, f *toolFields) *Error {
	tool.Custom = true
	if err := f.name.functionName(join(at, "name"), &tool.Name); err != nil {
		return err
	}
	if err := f.description.text(join(at, "description"), &tool.Description); err != nil {
		return err
	}
	if err := f.deferred.boolean(join(at, "defer_loading"), &tool.Deferred); err != nil {
		return err
	}
	if err := f.format.readInputFormat(join(at, "format"), false, &tool.Grammar); err != nil {
		return err
	}
	return r.add(join(at, "name"), &tool)
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
