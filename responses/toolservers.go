package responses

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/responses/egress"
	"github.com/harmonyedge/harmonyedge/responses/toolserver"
)

// Serves reports whether the service does anything about tools.
func (o *ToolOptions) Serves() bool {
	return len(o.Servers) > 0 || len(o.Allow) > 0 || o.RefuseOthers
}

// server returns the server as it is called. Its headers are the caller's to change.
func (s *ToolServer) server() *toolserver.Server {
	return &toolserver.Server{Label: s.Label, URL: s.URL, Command: s.Command, Environment: s.Environment,
		Transport: toolserver.Transport(s.Transport), Headers: s.Headers.Clone(), Private: true}
}

// builtinOf returns the namespace of the tool of gpt-oss's own that a type of the API stands for, or an empty string.
func builtinOf(kind string) string {
	switch {
	case strings.HasPrefix(kind, "web_search"):
		return browserNamespace
	case kind == "code_interpreter":
		return pythonNamespace
	case kind == containerNamespace:
		return containerNamespace
	}
	return ""
}

// builtin returns the namespace of the tool of gpt-oss's own that a tool of a request is, if a server has been set up
// for it. A client can name it by the label of an MCP server too.
func (o *ToolOptions) builtin(f *toolFields) string {
	namespace := builtinOf(f.Type)
	if f.Type == "mcp" && f.URL == "" {
		for _, each := range []string{browserNamespace, pythonNamespace, containerNamespace} {
			if f.Label != "" && f.Label == o.labelOf(each) {
				namespace = each
			}
		}
	}
	if namespace == "" || o.labelOf(namespace) == "" {
		return ""
	}
	return namespace
}

// labelOf returns the label of the server of one of gpt-oss's own tools, or an empty string.
func (o *ToolOptions) labelOf(namespace string) string {
	switch namespace {
	case browserNamespace:
		return o.Browser
	case pythonNamespace:
		return o.Python
	}
	return o.Container
}

// openToolServers makes what calls the servers.
func (s *Service) openToolServers() {
	guard, err := egress.NewGuard(s.Tools.Allow)
	if err != nil { // the configuration has been checked
		s.Log.Error("requests can name no servers of tools", "error", err)
		guard, _ = egress.NewGuard(nil)
	}
	s.guard = guard
	s.toolServers = toolserver.NewPool(toolserver.Limits{Call: s.Tools.CallTime, Result: s.Tools.ResultLimit}, guard, s.Log)
}
