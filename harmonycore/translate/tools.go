package translate

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// functions is the namespace that gpt-oss is trained to find a client's functions in.
const functions = "functions"

// shownTool is a declared function under the name that the model sees.
type shownTool struct {
	shown           string
	name, namespace string
	custom          bool
	// localShell is the API's own tool, whose calls are items of their own.
	localShell bool
	// schema is that of its arguments as text, empty where there is nothing to hold them against.
	schema []byte
}

// Arguments are held against schemas of at most maxSchema bytes, and of maxSchemas bytes together: their texts are kept
// while an answer lasts.
const (
	maxSchema  = 64 << 10
	maxSchemas = 256 << 10
)

// toolset are the functions that the model is shown, each under a name of its own. The Responses API's namespaces are
// flattened, since the model knows only one: a function keeps its bare name unless another has it too, and then stands as
// NAMESPACE__NAME, with a number behind it where that is taken. What stands in no namespace always keeps its name.
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
		tool := shownTool{shown: shown, name: t.Name, namespace: t.Namespace, custom: t.Custom, localShell: t.LocalShell}
		if size := len(t.Parameters); size <= maxSchema {
			if room -= size; room >= 0 {
				tool.schema = t.Parameters
			}
		}
		set = append(set, tool)
	}
	return set
}

// unusedName returns name, with a number behind it if used has it already, and adds it there.
func unusedName(name string, used map[string]int) string {
	unused := name
	for n := 2; used[unused] > 0; n++ {
		unused = name + "_" + strconv.Itoa(n)
	}
	used[unused]++
	return unused
}

// renamedTools are the functions that the model sees under another name than their own, by NAMESPACE.NAME: no dot is in
// either of them where they are declared.
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
			r[s[i].namespace+"."+s[i].name] = s[i].shown
		}
	}
	return r
}

// shown is the name of a call of the past; one to a function that is no longer declared keeps its own.
func (r renamedTools) shown(namespace, name string) string {
	if len(r) == 0 || namespace == "" {
		return name
	}
	if shown, ok := r[namespace+"."+name]; ok {
		return shown
	}
	return name
}

func (s toolset) find(shown string) *shownTool {
	for i := range s {
		if s[i].shown == shown {
			return &s[i]
		}
	}
	return nil
}

// called finds the function that a recipient means: functions.NAME, or NAME alone, either with a content type "json"
// glued to it, as models sometimes write it. It is nil for everything that was not declared.
func (s toolset) called(recipient string) *shownTool {
	name := strings.TrimPrefix(recipient, functions+".")
	if t := s.find(name); t != nil {
		return t
	}
	if short, glued := strings.CutSuffix(name, "json"); glued {
		return s.find(short)
	}
	return nil
}

// plainText is what a custom tool takes, as the parameters of a function: type NAME = (_: string) => any.
const plainText = `{"type":"string"}`

// schemasOf reads the parameters of the declared tools, nil where there are none. They take many times the memory of their
// text, and are not kept while an answer lasts.
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

// namespaces are the tools as the developer message prints them.
func (s toolset) namespaces(declared []openai.Tool, schemas []*harmony.Schema) []harmony.Namespace {
	if len(s) == 0 || len(s) != len(declared) || len(s) != len(schemas) {
		return nil
	}
	list := make([]harmony.ToolDescription, 0, len(s))
	for i := range s {
		parameters := schemas[i]
		if s[i].custom {
			parameters, _ = harmony.ParseSchema([]byte(plainText))
		}
		list = append(list, harmony.ToolDescription{
			Name: s[i].shown, Description: describe(&declared[i]), Parameters: parameters,
		})
	}
	return []harmony.Namespace{{Key: functions, Name: functions, Description: s.about(declared), Tools: list}}
}

// about is the description of all functions: what each of the client's namespaces says of itself, and which functions are
// in it, since the model sees them all in one.
func (s toolset) about(declared []openai.Tool) harmony.Optional {
	var text []byte
	for i := 0; i < len(s); {
		first, from := &declared[i], i
		for i < len(s) && declared[i].Namespace == first.Namespace && declared[i].NamespaceDescription == first.NamespaceDescription {
			i++
		}
		if first.NamespaceDescription == "" {
			continue
		}
		if len(text) > 0 {
			text = append(text, '\n')
		}
		text = append(append(text, first.Namespace...), " ("...)
		for j := from; j < i; j++ {
			if j > from {
				text = append(text, ", "...)
			}
			text = append(text, s[j].shown...)
		}
		text = append(append(text, "): "...), first.NamespaceDescription...)
	}
	if len(text) == 0 {
		return harmony.Optional{}
	}
	return harmony.Some(string(text))
}
