package translate

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// codeType is the content type of calls of built-in tools, of those with JSON too: gpt-oss was trained so.
const codeType = "code"

// jsonType is the content type of calls of functions in the chat template, and constrainedJSON as the model writes it.
const (
	jsonType        = "json"
	constrainedJSON = "<|constrain|>json"
)

// calledTool is a tool as the model addresses it. A function's full name begins with its namespace. The name of a
// built-in tool is shown itself, such as browser.search or python.
type calledTool struct {
	shown   string
	builtIn bool
}

// recipient returns the full name of the tool.
func (t calledTool) recipient() string {
	if t.builtIn {
		return t.shown
	}
	return functions + "." + t.shown
}

// channel returns the channel of the tool's calls and results. Calls of built-in tools are part of the reasoning, and
// are left out with it once the turn has its answer.
func (t calledTool) channel() string {
	if t.builtIn {
		return harmony.Analysis
	}
	return harmony.Commentary
}

// contentType returns the content type of the tool's calls, or an empty string if they have none. custom reports
// whether the tool takes plain text.
func (t calledTool) contentType(custom bool) string {
	switch {
	case t.builtIn:
		return codeType
	case custom:
		return ""
	}
	return jsonType
}

// writtenType is contentType in a call of the history, as the model writes it if asSampled is set.
func (t calledTool) writtenType(custom, asSampled bool) string {
	if kind := t.contentType(custom); kind != jsonType || !asSampled {
		return kind
	}
	return constrainedJSON
}

// builtInTools are the built-in tools that a request declares.
type builtInTools struct {
	// shown are the namespaces of those that the model may call, for the system message.
	shown []harmony.Namespace
	// recipients has the recipients of all tools. Calls in the history are calls of built-in tools also where the tool
	// choice hides the tools.
	recipients []string
}

// newBuiltInTools returns the built-in tools of a request. In in.Tools it puts the methods of each in its place.
func newBuiltInTools(in *openai.ResponsesRequest) (b builtInTools) {
	for _, name := range in.BuiltIns {
		namespace, ok := harmony.BuiltinTools(name)
		if !ok {
			continue
		}
		methods := methodsOf(&namespace)
		for i := range methods {
			b.recipients = append(b.recipients, methods[i].Name)
		}
		at := slices.IndexFunc(in.Tools, func(t openai.Tool) bool { return t.BuiltIn && t.Name == name })
		if at < 0 {
			continue
		}
		b.shown = append(b.shown, namespace)
		in.Tools = slices.Replace(in.Tools, at, at+1, methods...)
	}
	return b
}

// methodsOf returns what can be called of a built-in tool. One without methods is called by its own name, with text.
// The tool's own description is part of its first method's.
func methodsOf(n *harmony.Namespace) []openai.Tool {
	if len(n.Tools) == 0 {
		return []openai.Tool{{Name: n.Name, BuiltIn: true, Custom: true, Description: n.Description.Value}}
	}
	methods := make([]openai.Tool, 0, len(n.Tools))
	for i := range n.Tools {
		method := openai.Tool{Name: n.Name + "." + n.Tools[i].Name, BuiltIn: true, Description: n.Tools[i].Description}
		if i == 0 && n.Description.Set {
			method.Description += "\n\n" + n.Description.Value
		}
		if parameters := n.Tools[i].Parameters; parameters != nil {
			method.Parameters = parameters.AppendJSON(nil)
		}
		methods = append(methods, method)
	}
	return methods
}

// called returns the tool of a call in the history. Items that hold their result themselves are of other tools.
func (b *builder) called(item *openai.InputItem, renamed renamedTools) calledTool {
	if item.BuiltIn || item.Namespace == "" && !item.Answered && slices.Contains(b.builtIns.recipients, item.Name) {
		return calledTool{shown: item.Name, builtIn: true}
	}
	return calledTool{shown: renamed.shown(item.Namespace, item.Name)}
}
