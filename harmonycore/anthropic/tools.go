package anthropic

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Choice determines whether the model may, must or must not call tools.
type Choice struct {
	// None forbids calls, and Required requires one. Name is the only tool that may then be called, or empty for any.
	None, Required bool
	Name           string
	// OneCall reports whether the answer has at most one call.
	OneCall bool
}

func (c *Choice) read(v *rawjson.Part) *openai.Error {
	*c = Choice{}
	at := top("tool_choice")
	if !v.Given() {
		return nil
	}
	if v.Kind != rawjson.Object {
		return wrongType(at, "a valid object")
	}
	kind := ""
	var name, one rawjson.Part
	members := v.Items()
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "type":
			kind = word(&members)
		case "name":
			name = members.Part()
		case "disable_parallel_tool_use":
			one = members.Part()
		}
	}
	if err := boolean(&one, at.in("disable_parallel_tool_use"), &c.OneCall); err != nil {
		return err
	}
	switch kind {
	case "auto":
	case "none":
		c.None = true
	case "any":
		c.Required = true
	case "tool":
		c.Required = true
		return toolName(&name, at.in("name"), &c.Name)
	case "":
		return missing(at.in("type"))
	default:
		return invalid(at.in("type"), "Input should be 'auto', 'any', 'tool' or 'none'")
	}
	return nil
}

// Tool is a tool that the client offers to the model and runs itself.
type Tool struct {
	Name, Description string
	// Parameters is the JSON schema of its input as the client spelled it, or nil if there is none.
	Parameters []byte
	// Strict asks that the input of every call matches the schema.
	Strict bool
	// Deferred reports whether the model is shown the tool only once a message refers to it.
	Deferred bool
}

// Tools are the tools of a request.
type Tools struct {
	All []Tool
	// Searched reports whether messages may refer to deferred tools: a tool of the client's can find them. Otherwise all
	// tools are shown.
	Searched bool
	// Served are those that a server would have to run.
	Served []ServerTool
	// Size is how long they are, in bytes of JSON.
	Size int
}

// placeholder is the name of a tool with which Claude Code says that it has tools of which it sends none. It cannot be
// called.
const placeholder = "DeferredToolPlaceholder"

// serverSearch begins the types of Anthropic's own searches for tools.
const serverSearch = "tool_search_tool_"

// ToolsJSON returns the member tools as it is spelled, or nil if there are none.
func (r *Request) ToolsJSON() []byte {
	if !r.tools.Given() {
		return nil
	}
	return r.tools.Value
}

// Tools reads the tools. What it returns is a copy.
func (r *Request) Tools() (*Tools, *openai.Error) {
	t := &Tools{Size: len(r.tools.Value)}
	at := top("tools")
	switch {
	case !r.tools.Given():
		return t, nil
	case r.tools.Kind != rawjson.Array:
		return nil, wrongType(at, "a valid array")
	case len(r.tools.Value) > openai.MaxTools:
		return nil, tooLarge(at)
	}
	n := lengthOf(&r.tools)
	t.All = make([]Tool, 0, n)
	names := make(map[string]bool, n)
	shown, search := 0, false
	list := r.tools.Items()
	for i := 0; list.Next(); i++ {
		v, at := list.Part(), at.element(i)
		tool, kind, err := readTool(&v, at)
		switch {
		case err != nil:
			return nil, err
		case strings.HasPrefix(kind, serverSearch):
			search = true
			continue
		case kind != "":
			t.Served = append(t.Served, ServerTool{i, kind, v})
			continue
		case tool.Name == placeholder:
			continue
		case names[tool.Name]:
			return nil, invalid(top("tools"), "Tool names must be unique")
		}
		names[tool.Name] = true
		if !tool.Deferred {
			shown++
		}
		t.All = append(t.All, tool)
	}
	t.Searched = shown > 0 && !search
	return t, nil
}

// lengthOf returns the number of an array's elements.
func lengthOf(array *rawjson.Part) int {
	n := 0
	for list := array.Items(); list.Next(); {
		n++
	}
	return n
}

func tooLarge(at place) *openai.Error {
	return invalid(at, "Tools should have at most "+strconv.Itoa(openai.MaxTools)+" bytes of JSON together")
}

// readTool reads a tool. kind is its type if it is not the client's to run.
func readTool(v *rawjson.Part, at place) (tool Tool, kind string, err *openai.Error) {
	if v.Kind != rawjson.Object {
		return tool, "", wrongType(at, "a valid object")
	}
	var name, description, schema, strict, deferred rawjson.Part
	members := v.Items()
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "type":
			kind = word(&members)
		case "name":
			name = members.Part()
		case "description":
			description = members.Part()
		case "input_schema":
			schema = members.Part()
		case "strict":
			strict = members.Part()
		case "defer_loading":
			deferred = members.Part()
		}
	}
	if kind != "" && kind != "custom" && !schema.Given() {
		return tool, kind, nil
	}
	if err = toolName(&name, at.in("name"), &tool.Name); err != nil {
		return tool, "", err
	}
	if description.Given() {
		if err = text(&description, at.in("description"), &tool.Description); err != nil {
			return tool, "", err
		}
	}
	if err = boolean(&strict, at.in("strict"), &tool.Strict); err != nil {
		return tool, "", err
	}
	if err = boolean(&deferred, at.in("defer_loading"), &tool.Deferred); err != nil {
		return tool, "", err
	}
	tool.Parameters, err = readSchema(&schema, at.in("input_schema"))
	return tool, "", err
}

// readSchema returns a copy of a schema as it is spelled, or nil if there is none.
func readSchema(v *rawjson.Part, at place) ([]byte, *openai.Error) {
	switch {
	case !v.Given():
		return nil, nil
	case v.Kind != rawjson.Object:
		return nil, wrongType(at, "a valid object")
	}
	if err := rawjson.Validate(v.Value, openai.MaxSchemaDepth); err != nil {
		return nil, invalid(at, "The schema has more than "+strconv.Itoa(openai.MaxSchemaDepth)+" levels")
	}
	return bytes.Clone(v.Value), nil
}

// toolName reads the name of a declared tool, which becomes a word of a header.
func toolName(v *rawjson.Part, at place, dst *string) *openai.Error {
	if err := text(v, at, dst); err != nil {
		return err
	}
	ok := len(*dst) > 0 && len(*dst) <= 128
	for i := 0; ok && i < len(*dst); i++ {
		c := (*dst)[i]
		ok = c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
	}
	if !ok {
		return invalid(at, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
	}
	return nil
}
