package openai

// typeBuiltIn is a tool that gpt-oss is trained with and that the client runs. OpenAI's API does not have this type.
const typeBuiltIn = "builtin"

// IsBuiltIn reports whether name is the name of a tool that gpt-oss is trained with.
func IsBuiltIn(name string) bool {
	return name == "browser" || name == "container" || name == "python"
}

// readBuiltIn reads a built-in tool. No other tool may have its name: calls of python are addressed to the name alone.
func (r *toolReader) readBuiltIn(at string, f *toolFields) *Error {
	at = join(at, "name")
	tool := Tool{BuiltIn: true}
	if err := f.name.functionName(at, &tool.Name); err != nil {
		return err
	}
	if !IsBuiltIn(tool.Name) {
		return notOneOf(at, tool.Name, "'browser', 'container', and 'python'")
	}
	r.builtIns = append(r.builtIns, tool.Name)
	return r.add(at, &tool)
}
