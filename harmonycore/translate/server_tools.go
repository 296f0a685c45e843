package translate

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// nameForServers gives built-in tools names that servers accept for functions.
func (s toolset) nameForServers() {
	var used map[string]int
	for i := range s {
		if !s[i].builtIn {
			continue
		}
		if used == nil {
			used = make(map[string]int, len(s))
			for j := range s {
				used[s[j].shown]++
			}
		}
		if name := undotted(s[i].name); name != s[i].shown {
			s[i].shown = unusedName(name, used)
		}
	}
}

func undotted(name string) string { return strings.ReplaceAll(name, ".", "_") }

// builtInNames returns the names by which servers know the built-in tools that they are told about.
func (s toolset) builtInNames() map[string]string {
	names := make(map[string]string)
	for i := range s {
		if s[i].builtIn {
			names[s[i].name] = s[i].shown
		}
	}
	return names
}

// forServers returns the tools as servers are told about them. Where the client names a built-in tool with several
// functions, they are told about these alone. There are no namespaces in Chat, so the description of one is part of the
// description of its first tool.
func (s toolset) forServers(in *openai.ResponsesRequest) []chatserver.Tool {
	tools := make([]chatserver.Tool, 0, len(s))
	for i, end := 0, 0; i < len(s); i++ {
		var group []byte
		if i == end {
			group, end = s.appendGroup(nil, in.Tools, i)
		}
		if in.Choice.BuiltIn && !s[i].chosen(&in.Choice) {
			continue
		}
		t := &in.Tools[i]
		tool := chatserver.Tool{Name: s[i].shown, Parameters: t.Parameters, Custom: t.Custom, Strict: t.Strict}
		for _, text := range [...]string{describe(t), string(group)} {
			if text != "" {
				tool.Description = append(tool.Description, text)
			}
		}
		tools = append(tools, tool)
	}
	return tools
}
