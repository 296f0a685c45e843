package openai

// readTool takes a function or a custom tool. What only one kind of it has is looked at by its type.
func (r *ChatRequest) readTool(at string, v value) *Error {
	var kind string
	var function, custom value
	err := v.members(at, func(key []byte, v value) *Error {
		switch string(key) {
		case "type":
			return v.text(join(at, "type"), &kind)
		case "function":
			function = v
		case "custom":
			custom = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	tool := Tool{}
	switch kind {
	case "":
		return missing(join(at, "type"))
	case typeFunction:
		err = function.readFunction(join(at, kind), &tool)
	case typeCustom:
		err = custom.readCustom(join(at, kind), &tool)
	default:
		return notOneOf(join(at, "type"), kind, "'function' and 'custom'")
	}
	r.Tools = append(r.Tools, tool)
	return err
}

func (v value) readFunction(at string, tool *Tool) *Error {
	if !v.given() {
		return missing(at)
	}
	var name value
	err := v.members(at, func(key []byte, v value) *Error {
		switch string(key) {
		case "name":
			name = v
			return nil
		case "description":
			return v.text(join(at, "description"), &tool.Description)
		case "parameters":
			return v.schema(join(at, "parameters"), tool)
		case "strict":
			return v.boolean(join(at, "strict"), &tool.Strict)
		default:
			return nil
		}
	})
	if err != nil {
		return err
	}
	return name.functionName(join(at, "name"), &tool.Name)
}

// readCustom takes a tool whose input is any text. One whose input follows a grammar is refused: nothing here holds the
// model to it.
func (v value) readCustom(at string, tool *Tool) *Error {
	if !v.given() {
		return missing(at)
	}
	tool.Custom = true
	var name, format value
	err := v.members(at, func(key []byte, v value) *Error {
		switch string(key) {
		case "name":
			name = v
		case "description":
			return v.text(join(at, "description"), &tool.Description)
		case "format":
			format = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	if format.given() {
		if err := format.readInputFormat(join(at, "format")); err != nil {
			return err
		}
	}
	return name.functionName(join(at, "name"), &tool.Name)
}

func (v value) readInputFormat(at string) *Error {
	kind := ""
	err := v.members(at, func(key []byte, v value) *Error {
		if string(key) == "type" {
			return v.text(join(at, "type"), &kind)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case kind == "text":
		return nil
	case kind == "":
		return missing(join(at, "type"))
	case kind == "grammar":
		return unsupported(join(at, "type"), "Unsupported value: the input of a custom tool cannot be held to a 'grammar'; use 'text'.")
	default:
		return notOneOf(join(at, "type"), kind, "'text' and 'grammar'")
	}
}
