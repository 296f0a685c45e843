package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// ToolChoice determines whether the model may, must or must not call tools, and which of them.
type ToolChoice struct {
	// Required reports whether the answer must be a call.
	Required bool
	// Name is the only tool that may be called, or empty for any. Custom reports whether it is a custom tool, and BuiltIn
	// whether it is a built-in one.
	Name            string
	Custom, BuiltIn bool
	// none and allowed remove tools before the model is shown them. A nil allowed keeps all.
	none    bool
	allowed allowedTools
}

// kind returns the type of the named tool.
func (c *ToolChoice) kind() string {
	t := Tool{Custom: c.Custom, BuiltIn: c.BuiltIn}
	return t.kind()
}

// allowedTools holds tools, each as type and name with a space between them. A value reports whether the tool was found.
type allowedTools map[string]bool

// maxToolChoice is the maximum length of a tool choice, in bytes of JSON. The Responses API repeats it three times in
// the answer.
const maxToolChoice = 64 << 10

// read reads a tool choice of either API. Chat nests the name of a function and the list of allowed tools in objects.
// Responses has them next to the type.
func (c *ToolChoice) read(param string, v value, nested bool) *Error {
	*c = ToolChoice{}
	if len(v.raw) > maxToolChoice {
		return tooLong(param, maxToolChoice)
	}
	switch v.kind {
	case 0, rawjson.Null:
		return nil
	case rawjson.String:
		return c.mode(param, rawjson.Unescape(v.raw), "'none', 'auto', and 'required'")
	case rawjson.Object:
	default:
		return wrongType(param, "one of a string or an object", v)
	}
	kind, inner, err := v.typed(param, nested)
	if err != nil {
		return err
	}
	at := param
	if nested {
		at = join(param, kind)
	}
	switch {
	case kind == typeFunction, kind == typeCustom, kind == typeBuiltIn && !nested:
		c.Required, c.Custom, c.BuiltIn = true, kind == typeCustom, kind == typeBuiltIn
		if !nested {
			if at, inner, err = inner.chatShaped(param, kind); err != nil {
				return err
			}
		}
		return inner.toolRef(at, &c.Name)
	case kind == "allowed_tools":
		return c.readAllowed(at, inner, nested)
	case nested:
		return notOneOf(join(param, "type"), kind, "'function', 'custom', and 'allowed_tools'")
	default:
		// Responses has many more types, each for a tool that a server would run itself.
		return Unsupported(join(param, "type"), "Unsupported value: '"+clip(kind)+"'. Supported values are: 'function', "+
			"'custom', 'builtin', and 'allowed_tools'.")
	}
}

// responsesJSON returns the choice of a named tool in the form in which Responses repeats it.
func (c *ToolChoice) responsesJSON() string {
	return `{"type":"` + c.kind() + `","name":` + string(rawjson.AppendString(nil, c.Name)) + `}`
}

// typed reads an object's type. inner is the object with the other members: with nested the member that is named like
// the type, else v itself.
func (v value) typed(param string, nested bool) (kind string, inner value, err *Error) {
	if err = v.members(param, func(key []byte, v value) *Error {
		if rawjson.View(key) == "type" {
			return v.text(join(param, "type"), &kind)
		}
		return nil
	}); err != nil {
		return "", v, err
	}
	if kind == "" {
		return "", v, missing(join(param, "type"))
	}
	if !nested {
		return kind, v, nil
	}
	err = v.members(param, func(key []byte, v value) *Error {
		if rawjson.View(key) == kind {
			inner = v
		}
		return nil
	})
	return kind, inner, err
}

// chatShaped finds the object that holds the name of a Responses tool choice: v itself, or a nested object as in Chat.
// Many clients send Chat's form here.
func (v value) chatShaped(param, kind string) (at string, inner value, err *Error) {
	var name, object value
	err = v.members(param, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "name":
			name = v
		case kind:
			object = v
		}
		return nil
	})
	if name.given() || object.kind != rawjson.Object {
		return param, v, err
	}
	return join(param, kind), object, err
}

// toolRef reads the name of a declared tool from an object.
func (v value) toolRef(param string, name *string) *Error {
	if !v.given() {
		return missing(param)
	}
	var given value
	err := v.members(param, func(key []byte, v value) *Error {
		if rawjson.View(key) == "name" {
			given = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	return given.functionName(join(param, "name"), name)
}

func (c *ToolChoice) mode(param, word, supported string) *Error {
	switch word {
	case "auto":
	case "none":
		c.none = true
	case "required":
		c.Required = true
	default:
		return notOneOf(param, word, supported)
	}
	return nil
}

func (c *ToolChoice) readAllowed(param string, v value, nested bool) *Error {
	if !v.given() {
		return missing(param)
	}
	var mode, tools value
	err := v.members(param, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "mode":
			mode = v
		case "tools":
			tools = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !mode.given() {
		return missing(join(param, "mode"))
	}
	if !tools.given() {
		return missing(join(param, "tools"))
	}
	word := ""
	if err := mode.text(join(param, "mode"), &word); err != nil {
		return err
	}
	if err := c.mode(join(param, "mode"), word, "'auto' and 'required'"); err != nil {
		return err
	}
	if c.none {
		return notOneOf(join(param, "mode"), word, "'auto' and 'required'")
	}
	c.allowed = allowedTools{}
	return tools.elements(join(param, "tools"), func(_ int, at string, v value) *Error {
		kind, inner, err := v.typed(at, nested)
		if err != nil {
			return err
		}
		switch {
		case kind == typeFunction, kind == typeCustom, kind == typeBuiltIn && !nested:
		case (kind == typeLocalShell || kind == typeToolSearch) && !nested:
			c.allowed[typeFunction+" "+kind] = false
			return nil
		case nested:
			return notOneOf(join(at, "type"), kind, "'function' and 'custom'")
		default:
			return notOneOf(join(at, "type"), kind, "'function', 'custom', 'builtin', 'local_shell', and 'tool_search'")
		}
		if nested {
			at = join(at, kind)
		}
		name := ""
		if err := inner.toolRef(at, &name); err != nil {
			return err
		}
		c.allowed[kind+" "+name] = false
		return nil
	})
}

// filter returns the tools that the model is shown, when all tools have been read, and removes the others from those
// that stand in the input. A tool that is not shown cannot be called, whatever the server enforces. Of those that are
// withdrawn none can be required.
func (c *ToolChoice) filter(tools []Tool, declared []Declaration, withdrawn map[string]bool) ([]Tool, *Error) {
	const param = "tool_choice"
	if c.none {
		for i := range declared {
			declared[i].Tools = nil
		}
		return nil, nil
	}
	if c.allowed != nil {
		missing := len(c.allowed)
		tools = c.allowedOf(tools, &missing)
		for i := range declared {
			declared[i].Tools = c.allowedOf(declared[i].Tools, &missing)
		}
		if missing > 0 || len(tools)+countTools(declared) == 0 {
			return nil, Invalid(param, "Invalid value for '"+param+"': every allowed tool must be one of 'tools', and there "+
				"must be one.")
		}
	}
	if !c.Required {
		return tools, nil
	}
	some, named := c.callable(tools, withdrawn)
	for i := range declared {
		more, found := c.callable(declared[i].Tools, withdrawn)
		some, named = some || more, named || found
	}
	if !some {
		return nil, Invalid(param, "Invalid value for '"+param+"': a call can only be required when 'tools' are specified.")
	}
	if c.Name == "" || named {
		return tools, nil
	}
	kind := "function"
	switch {
	case c.Custom:
		kind = "custom tool"
	case c.BuiltIn:
		kind = "built-in tool"
	}
	return nil, Invalid(param, "Invalid value for '"+param+"': the "+kind+" '"+clip(c.Name)+"' is not one of 'tools'.")
}

// allowedOf returns the allowed ones of tools. missing is how many of the allowed tools were not found.
func (c *ToolChoice) allowedOf(tools []Tool, missing *int) []Tool {
	kept := make([]Tool, 0, len(tools))
	for i := range tools {
		tool := tools[i].kind() + " " + tools[i].Name
		found, allowed := c.allowed[tool]
		if !allowed {
			continue
		}
		if !found {
			c.allowed[tool] = true
			*missing--
		}
		kept = append(kept, tools[i])
	}
	return kept
}

// callable reports whether some of the tools can be called, and whether the choice names one of these.
func (c *ToolChoice) callable(tools []Tool, withdrawn map[string]bool) (some, named bool) {
	for i := range tools {
		if !isWithdrawn(withdrawn, &tools[i]) {
			some, named = true, named || c.isNamed(&tools[i])
		}
	}
	return some, named
}

// isNamed reports whether the choice names this tool as the one to call.
func (c *ToolChoice) isNamed(t *Tool) bool { return t.Name == c.Name && t.kind() == c.kind() }

// mentions reports whether the choice names the tool, alone or among others.
func (c *ToolChoice) mentions(t *Tool) bool {
	if c.allowed == nil {
		return c.Name != "" && c.isNamed(t)
	}
	_, allowed := c.allowed[t.kind()+" "+t.Name]
	return allowed
}
