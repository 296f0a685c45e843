package translate

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// functions is the namespace in which gpt-oss is trained to find a client's functions.
const functions = "functions"

// shownTool is a declared tool under the name that the model sees.
type shownTool struct {
	calledTool
	name, namespace string
	custom          bool
	// formed reports whether servers hold the input to a form, if they hold the answer to one.
	formed bool
	// localShell and search report whether this is the API's own local shell or its search for tools, whose calls are
	// items of their own.
	localShell, search bool
	// schema is the JSON schema of the arguments, or empty if they are not checked.
	schema []byte
}

// The limits of the schemas that arguments are checked against, in bytes: of one and of all together. Their texts are
// kept while an answer lasts.
const (
	maxSchema  = 64 << 10
	maxSchemas = 256 << 10
)

// toolset holds the tools that the model is shown, each under a name of its own. All functions are in one namespace, so
// the namespaces of the Responses API are flattened. A tool keeps its bare name unless another tool has the same one.
// It is then NAMESPACE__NAME, with a number after it if that name is taken. A tool without a namespace always keeps its
// name (RATIONALE.md#41).
type toolset []shownTool

func newToolset(declared []openai.Tool) toolset {
	times := make(map[string]int, len(declared))
	for i := range declared {
		times[declared[i].Name]++
	}
	set := make(toolset, 0, len(declared))
	room := maxSchemas
	for i := range declared {
		t := &declared[i]
		shown := t.Name
		if t.Namespace != "" && times[t.Name] > 1 {
			shown = unusedName(t.Namespace+"__"+t.Name, times)
		}
		set = append(set, newShownTool(t, shown, &room))
	}
	return set
}

// newShownTool returns a tool under a name. room is how many bytes of schemas may still be kept.
func newShownTool(t *openai.Tool, shown string, room *int) shownTool {
	tool := shownTool{
		calledTool: calledTool{shown: shown, builtIn: t.BuiltIn},
		name:       t.Name, namespace: t.Namespace, custom: t.Custom, localShell: t.LocalShell, search: t.Search,
	}
	if size := len(t.Parameters); size <= maxSchema {
		if *room -= size; *room >= 0 {
			tool.schema = t.Parameters
		}
	}
	return tool
}

// unusedName returns name, with a number after it if used already has it. It adds the result to used.
func unusedName(name string, used map[string]int) string {
	unused := name
	for n := 2; used[unused] > 0; n++ {
		unused = name + "_" + strconv.Itoa(n)
	}
	used[unused]++
	return unused
}

// renamedTools holds the tools that the model sees under another name. The key is NAMESPACE.NAME: neither can have a
// dot in its declaration. Only a tool that stands in the input may be renamed without a namespace.
type renamedTools map[string]string

func (s toolset) renamed() renamedTools {
	n := 0
	for i := range s {
		if s[i].shown != s[i].name {
			n++
		}
	}
	r := make(renamedTools, n)
	for i := range s {
		if s[i].shown != s[i].name {
			r[keyOf(s[i].namespace, s[i].name)] = s[i].shown
		}
	}
	return r
}

// shown returns the name that the model sees in a call of the history. A function that is no longer declared keeps its
// own name.
func (r renamedTools) shown(namespace, name string) string {
	if len(r) == 0 {
		return name
	}
	if shown, ok := r[keyOf(namespace, name)]; ok {
		return shown
	}
	return name
}

// keyOf returns what a tool is known by: NAMESPACE.NAME.
func keyOf(namespace, name string) string {
	if namespace == functions {
		namespace = ""
	}
	return namespace + "." + name
}

func (s toolset) find(shown string) *shownTool {
	for i := range s {
		if s[i].shown == shown {
			return &s[i]
		}
	}
	return nil
}

// plainText is the schema that the model is shown for a custom tool: type NAME = (_: string) => any (RATIONALE.md#39).
const plainText = `{"type":"string"}`

// schemasOf reads the parameters of the declared tools, nil for a tool without any. A schema takes many times the
// memory of its text, and is not kept while an answer lasts.
func schemasOf(declared []openai.Tool) []*harmony.Schema {
	schemas := make([]*harmony.Schema, len(declared))
	for i := range declared {
		if declared[i].Parameters == nil {
			continue
		}
		if schema, err := harmony.ParseSchema(declared[i].Parameters); err == nil {
			schemas[i] = schema
		}
	}
	return schemas
}

// schemas are the parameters of declared tools. They are read when they are first needed.
type schemas struct {
	declared []openai.Tool
	read     []*harmony.Schema
	// of is nil, or has the schemas at places among its own.
	of       *schemas
	places   []int
	grammars grammars
	// unenforced is the number of grammars of inputs that no server can enforce.
	unenforced int
}

// all returns the schemas, nil for a tool without any.
func (s *schemas) all() []*harmony.Schema {
	if len(s.read) == len(s.declared) {
		return s.read
	}
	if s.of == nil {
		s.read = schemasOf(s.declared)
		return s.read
	}
	all := s.of.all()
	for _, at := range s.places {
		s.read = append(s.read, all[at])
	}
	return s.read
}

// declaration returns the functions as the developer message declares them. The namespaces are not printed again if the
// section has been rendered.
func (s toolset) declaration(known *schemas, section *harmony.ToolSection) declaration {
	if section.Rendered() {
		return declaration{section: section}
	}
	d := declaration{namespaces: s.namespaces(known.declared, known.all())}
	if len(d.namespaces) > 0 {
		d.section = section
	}
	return d
}

// declaration is what a developer message declares.
type declaration struct {
	namespaces []harmony.Namespace
	section    *harmony.ToolSection
}

// namespaces returns the functions as the developer message prints them. Built-in tools stand in the system message.
func (s toolset) namespaces(declared []openai.Tool, schemas []*harmony.Schema) []harmony.Namespace {
	if len(s) == 0 || len(s) != len(declared) || len(s) != len(schemas) {
		return nil
	}
	list := make([]harmony.ToolDescription, 0, len(s))
	for i := range s {
		if s[i].builtIn {
			continue
		}
		parameters := schemas[i]
		if s[i].custom {
			parameters, _ = harmony.ParseSchema([]byte(plainText))
		}
		list = append(list, harmony.ToolDescription{
			Name: s[i].shown, Description: describe(&declared[i]), Parameters: parameters,
		})
	}
	if len(list) == 0 {
		return nil
	}
	return []harmony.Namespace{
		{Key: functions, Name: functions, Description: s.namespaceDescription(declared), Tools: list},
	}
}

// namespaceDescription returns the description of the one namespace that the model sees. It has the description of each
// of the client's namespaces, with the names of its functions.
func (s toolset) namespaceDescription(declared []openai.Tool) harmony.Optional {
	var text []byte
	for i := 0; i < len(s); {
		if len(text) > 0 && declared[i].NamespaceDescription != "" {
			text = append(text, '\n')
		}
		text, i = s.appendGroup(text, declared, i)
	}
	if len(text) == 0 {
		return harmony.Optional{}
	}
	return harmony.Some(string(text))
}

// appendGroup appends the description of the client's namespace whose first tool is at from. end is behind its last
// tool. The description may be empty.
func (s toolset) appendGroup(dst []byte, declared []openai.Tool, from int) (text []byte, end int) {
	first := &declared[from]
	for end = from; end < len(s) && declared[end].Namespace == first.Namespace &&
		declared[end].NamespaceDescription == first.NamespaceDescription; {
		end++
	}
	if first.NamespaceDescription == "" {
		return dst, end
	}
	name := first.Namespace
	if name == "" {
		name = functions // which the client has described
	}
	dst = append(append(dst, name...), " ("...)
	for i := from; i < end; i++ {
		if i > from {
			dst = append(dst, ", "...)
		}
		dst = append(dst, s[i].shown...)
	}
	return append(append(dst, "): "...), first.NamespaceDescription...), end
}
