package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// chatToolFields holds the members of a tool, or of a call of one, before its type is known.
type chatToolFields struct {
	kind                 string
	id, function, custom value
}

// chatToolFields reads these members. kind is the type if the object has none.
func (v value) chatToolFields(at, kind string) (f chatToolFields, err *Error) {
	f.kind = kind
	err = v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "id":
			f.id = v
		case "type":
			return v.text(join(at, "type"), &f.kind)
		case "function":
			f.function = v
		case "custom":
			f.custom = v
		}
		return nil
	})
	return f, err
}

// readTool reads a function or a custom tool. names holds the names of the tools before it.
func (r *ChatRequest) readTool(at string, v value, names *toolNames) *Error {
	f, err := v.chatToolFields(at, "")
	if err != nil {
		return err
	}
	tool := Tool{}
	switch f.kind {
	case "":
		return missing(join(at, "type"))
	case typeFunction:
		err = f.function.readFunction(join(at, f.kind), &tool)
	case typeCustom:
		err = f.custom.readCustom(join(at, f.kind), &tool)
	default:
		return notOneOf(join(at, "type"), f.kind, "'function' and 'custom'")
	}
	if err == nil {
		err = names.add(join(join(at, f.kind), "name"), &tool)
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
		switch rawjson.View(key) {
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

// readCustom reads a tool whose input is text.
func (v value) readCustom(at string, tool *Tool) *Error {
	if !v.given() {
		return missing(at)
	}
	tool.Custom = true
	var name, format value
	err := v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
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
	if err := format.readInputFormat(join(at, "format"), true, &tool.Grammar); err != nil {
		return err
	}
	return name.functionName(join(at, "name"), &tool.Name)
}
