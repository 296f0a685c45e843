package hosted

import (
	"log/slog"
	"strings"

	"github.com/harmonyedge/harmonyedge/services/responses/egress"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// Serves reports whether the service does anything about tools.
func (o *Options) Serves() bool {
	return len(o.Servers) > 0 || len(o.Allow) > 0 || o.RefuseOthers || o.Searches
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
		return items.BrowserNamespace
	case kind == "code_interpreter":
		return items.PythonNamespace
	case kind == items.ContainerNamespace:
		return items.ContainerNamespace
	}
	return ""
}

// builtin returns the namespace of the tool of gpt-oss's own that a tool of a request is, if a server has been set up
// for it. A client can name it by the label of its server too, as with vLLM.
func (o *Options) builtin(f *members) string {
	namespace := builtinOf(f.Type)
	if f.Type == "mcp" && o.unrestricted(f) {
		namespace = o.namespaceOf(f.Label)
	}
	if namespace == "" || o.labelOf(namespace) == "" {
		return ""
	}
	return namespace
}

// unrestricted reports whether a tool of the type mcp asks for a configured server as it is. gpt-oss's own tools know no
// approvals, no filters and no headers, so with these the server is an MCP server like any other.
func (o *Options) unrestricted(f *members) bool {
	server := o.Server(f.Label)
	if server == nil || f.URL != "" || f.Authorization != "" || len(f.Headers) > 0 || items.Given(f.Allowed) {
		return false
	}
	return string(f.Approval) == `"`+approvalNever+`"` || !items.Given(f.Approval) && server.RequireApproval == approvalNever
}

// namespaceOf returns the namespace of the tool of gpt-oss's own that the server with a label runs, or an empty string.
func (o *Options) namespaceOf(label string) string {
	for _, namespace := range []string{items.BrowserNamespace, items.PythonNamespace, items.ContainerNamespace} {
		if label != "" && label == o.labelOf(namespace) {
			return namespace
		}
	}
	return ""
}

// labelOf returns the label of the server of one of gpt-oss's own tools, or an empty string. A server whose calls need
// approvals is none: the API has no items for them.
func (o *Options) labelOf(namespace string) string {
	label := o.Container
	switch namespace {
	case items.BrowserNamespace:
		label = o.Browser
	case items.PythonNamespace:
		label = o.Python
	}
	if server := o.Server(label); server == nil || server.RequireApproval == approvalAlways {
		return ""
	}
	return label
}

// builtinTools are the tools of the namespaces, as gpt-oss knows them.
var builtinTools = map[string][]string{items.BrowserNamespace: {"search", "open", "find"},
	items.PythonNamespace:    {items.PythonNamespace},
	items.ContainerNamespace: {"exec"}}

// Operator are the tools that the operator lets requests run.
type Operator struct {
	Options
	// Guard knows which servers requests may name.
	Guard *egress.Guard
}

// Terms returns how servers of tools are called.
func (o *Operator) Terms() toolserver.Terms {
	t := toolserver.Terms{Call: o.CallTime, Result: o.ResultLimit, Guard: o.Guard, Servers: []*toolserver.Server{}}
	for i := range o.Servers {
		t.Servers = append(t.Servers, o.Servers[i].server())
	}
	return t
}

// Warn logs what is configured and has no effect.
func (o *Options) Warn(log *slog.Logger) {
	for namespace, label := range map[string]string{items.BrowserNamespace: o.Browser, items.PythonNamespace: o.Python,
		items.ContainerNamespace: o.Container} {
		if label != "" && o.labelOf(namespace) == "" {
			log.Warn("a tool of gpt-oss's own is not served: its calls cannot wait for approvals, which its server requires",
				"tool", namespace, "server", label)
		}
	}
}
