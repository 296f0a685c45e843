package hosted

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// Tools are the tools of a request that the service runs. A nil one has none.
type Tools struct {
	// declared holds all tools of the request, in its order.
	declared []declaredTool
	Servers  []*Server
	// Builtins are the servers of gpt-oss's own tools that the request offers, by namespace.
	Builtins map[string]*toolserver.Server
	Choice   toolChoice
	// shell and search report whether the client has the local shell, and a search for tools of its own.
	shell, search bool
	// Parallel reports whether calls of one round may run at the same time.
	Parallel bool
	// MaxCalls is how many calls may run, or a negative number for any.
	MaxCalls int64
	// searchesLeft is how often the web may still be searched, or a negative number for as often as the model wants.
	searchesLeft int64
	searching    searching
}

// declaredTool is a tool of a request.
type declaredTool struct {
	// raw is the tool without what is secret.
	raw json.RawMessage
	// ignored reports whether neither the model nor the client gets it, and search whether it is the service's search.
	ignored, search bool
	// server or builtin is what it stands for. Both are empty for a tool that the client runs.
	server  *Server
	builtin string
}

// client reports whether the client runs the tool itself.
func (d *declaredTool) client() bool {
	return !d.ignored && !d.search && d.server == nil && d.builtin == ""
}

// members are the members of a tool that the service reads.
type members struct {
	Type          string            `json:"type"`
	Name          string            `json:"name"`
	Label         string            `json:"server_label"`
	URL           string            `json:"server_url"`
	Connector     string            `json:"connector_id"`
	Tunnel        string            `json:"tunnel_id"`
	Description   string            `json:"server_description"`
	Authorization string            `json:"authorization"`
	Headers       map[string]string `json:"headers"`
	Allowed       json.RawMessage   `json:"allowed_tools"`
	Approval      json.RawMessage   `json:"require_approval"`
	Deferred      json.RawMessage   `json:"defer_loading"`
	Filters       struct {
		Domains []string `json:"allowed_domains"`
	} `json:"filters"`
}

// Take reads the tools of a request, and removes from it what must not be stored. It returns nil if no tool is
// for the service.
func (s *Operator) Take(fields map[string]json.RawMessage, background bool) (*Tools, *openai.Error) {
	var list []json.RawMessage
	if json.Unmarshal(items.OrNull(fields["tools"]), &list) != nil || len(list) == 0 {
		return nil, nil // the gateway reports what is wrong
	}
	if !s.Serves() {
		if background { // it is stored
			for i := range list {
				list[i] = withoutSecrets(list[i])
			}
			fields["tools"] = items.JSON(list)
		}
		return nil, nil
	}
	h := &Tools{Builtins: map[string]*toolserver.Server{}, Parallel: true, MaxCalls: -1, searchesLeft: -1,
		searching: searching{on: s.Searches}}
	for i, raw := range list {
		tool, failure := s.readTool(h, fmt.Sprintf("tools[%d]", i), raw)
		if failure != nil {
			return nil, failure
		}
		h.declared = append(h.declared, tool)
	}
	h.settleSearch(len(fields["tools"]))
	if !h.runs() {
		if slices.ContainsFunc(h.declared, func(d declaredTool) bool { return d.ignored }) {
			fields["tools"] = items.JSON(h.Plain())
		}
		return nil, nil
	}
	if failure := h.checkNamespaces(); failure != nil {
		return nil, failure
	}
	for _, read := range []func(map[string]json.RawMessage) *openai.Error{h.readLimits, h.readChoice} {
		if failure := read(fields); failure != nil {
			return nil, failure
		}
	}
	if h.secret() && background {
		return nil, refusal.Bad(contract.CodeUnsupportedParameter, "background",
			"Unsupported parameter: a response in the "+
				"background is stored before it is made, and 'authorization' and 'headers' of tools are never stored. Ask without "+
				"'background', or for a server that the operator has set up.")
	}
	kept := make([]json.RawMessage, len(h.declared))
	for i := range h.declared {
		kept[i] = h.declared[i].raw
	}
	fields["tools"] = items.JSON(kept)
	return h, nil
}

// runs reports whether the service runs any of the tools.
func (h *Tools) runs() bool { return len(h.Servers) > 0 || len(h.Builtins) > 0 || h.Searches() }

// secret reports whether the request has credentials for a server.
func (h *Tools) secret() bool {
	return slices.ContainsFunc(h.Servers, func(m *Server) bool { return m.secret })
}

func (s *Operator) readTool(h *Tools, at string, raw json.RawMessage) (declaredTool, *openai.Error) {
	var kind struct {
		Type      string `json:"type"`
		Execution string `json:"execution"`
	}
	if json.Unmarshal(raw, &kind) != nil {
		return declaredTool{raw: raw}, nil // the gateway reports what is wrong
	}
	if kind.Type == "" || openai.ShownTool(kind.Type, kind.Execution) {
		shell, search := kind.Type == "local_shell", kind.Type == typeSearch
		again := shell && h.shell || search && h.search // the gateway ignores a second one too
		h.shell, h.search = h.shell || shell, h.search || search
		if h.searching.on {
			h.searching.note(raw)
		}
		return declaredTool{raw: raw, ignored: again}, nil
	}
	if kind.Type == typeSearch && s.Searches {
		if kind.Execution != "" && kind.Execution != "server" {
			return declaredTool{raw: raw}, nil // the gateway reports what is wrong
		}
		again := h.searching.placed
		h.searching.placed = true
		return declaredTool{raw: raw, search: true, ignored: again}, nil
	}
	var f members
	if err := json.Unmarshal(raw, &f); err != nil {
		return declaredTool{}, refusal.Bad(contract.CodeInvalidType, at, "Invalid type for a member of '"+at+"': "+
			openai.Clip(typeReason(err), 2*refusal.MaxQuoted)+".")
	}
	if namespace := s.builtin(&f); namespace != "" {
		if len(f.Filters.Domains) > 0 {
			return declaredTool{}, refusal.Bad(contract.CodeUnsupportedParameter, at+".filters",
				"Unsupported parameter: '"+at+
					".filters'. The browser of this gateway cannot be held to domains.")
		}
		h.Builtins[namespace] = s.Server(s.labelOf(namespace)).server()
		return declaredTool{raw: withoutSecrets(raw), builtin: namespace}, nil
	}
	if f.Type != "mcp" {
		if s.RefuseOthers {
			return declaredTool{}, openai.Unsupported(at+".type", "Unsupported tool: '"+openai.Clip(f.Type,
				refusal.MaxQuoted)+
				"' is not run here. Declare functions, and run them yourself.")
		}
		return declaredTool{raw: raw, ignored: true}, nil
	}
	m, failure := s.readMCPTool(at, &f)
	if failure != nil {
		return declaredTool{}, failure
	}
	if h.Server(f.Label) != nil {
		return declaredTool{}, refusal.Bad(contract.CodeInvalidValue, at+".server_label", "Invalid '"+at+
			".server_label': two tools have the label "+refusal.Quote(f.Label)+".")
	}
	if len(h.Servers) == maxServers {
		return declaredTool{}, refusal.Bad(contract.CodeInvalidValue, at,
			fmt.Sprintf("Invalid '%s': a request can name %d MCP "+
				"servers.", at, maxServers))
	}
	h.Servers = append(h.Servers, m)
	return declaredTool{raw: withoutSecrets(raw), server: m}, nil
}

// maxServers is how many MCP servers a request can name. Each is asked for its tools.
const maxServers = 32

// typeReason returns what is wrong with a member, without its value.
func typeReason(err error) string {
	if wrong, ok := err.(*json.UnmarshalTypeError); ok {
		return "'" + wrong.Field + "' is " + wrong.Value
	}
	return "it is not JSON"
}

// withoutSecrets removes from a tool of the type mcp what is for its server only.
func withoutSecrets(raw json.RawMessage) json.RawMessage {
	var kind struct{ Type string }
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &kind) != nil || kind.Type != "mcp" || json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	for name := range fields {
		switch { // as in toolFields, capitals do not matter
		case strings.EqualFold(name, "authorization"):
			delete(fields, name)
		case strings.EqualFold(name, "headers"):
			fields[name] = json.RawMessage("null")
		}
	}
	return items.JSON(fields)
}

// Server returns the tools with a label, or nil.
func (h *Tools) Server(label string) *Server {
	if h == nil {
		return nil
	}
	for _, m := range h.Servers {
		if m.Label == label {
			return m
		}
	}
	return nil
}

// checkNamespaces refuses a namespace of the client's that has the name of a server.
func (h *Tools) checkNamespaces() *openai.Error {
	for i := range h.declared {
		var f struct{ Type, Name string }
		if !h.declared[i].client() || json.Unmarshal(h.declared[i].raw, &f) != nil || f.Type != "namespace" {
			continue
		}
		if h.Server(f.Name) != nil {
			return refusal.Bad(contract.CodeInvalidValue, fmt.Sprintf("tools[%d].name", i),
				fmt.Sprintf("Invalid 'tools[%d].name': "+
					"the MCP server %s has this name too.", i, refusal.Quote(f.Name)))
		}
	}
	return nil
}

// readLimits reads what limits the calls.
func (h *Tools) readLimits(fields map[string]json.RawMessage) *openai.Error {
	var most *int64
	if json.Unmarshal(items.OrNull(fields["max_tool_calls"]), &most) == nil && most != nil && *most >= 0 {
		h.MaxCalls = *most
	}
	_ = json.Unmarshal(items.OrNull(fields["parallel_tool_calls"]), &h.Parallel) // the gateway reports what is wrong
	return nil
}

// sent returns each tool as the gateway gets it, or nil for one that it does not get: the client's tools as they are,
// the tools of a server as a namespace, and the service's search as one of a client.
func (h *Tools) sent() []json.RawMessage {
	tools := make([]json.RawMessage, len(h.declared))
	shown := map[string]bool{}
	for i := range h.declared {
		d := &h.declared[i]
		switch {
		case d.client():
			tools[i] = d.raw
		case d.search && !d.ignored:
			tools[i] = h.searching.tool()
		case d.server != nil:
			tools[i] = d.server.namespace()
		case d.builtin != "" && !shown[d.builtin]:
			shown[d.builtin] = true
			tools[i] = items.JSON(map[string]string{"type": "builtin", "name": d.builtin})
		}
	}
	return tools
}

// Plain returns the tools that the gateway gets. A search that the request has no place for is the last one.
func (h *Tools) Plain() []json.RawMessage {
	tools := h.sent()
	if !h.searching.placed {
		tools = append(tools, h.searching.tool())
	}
	return slices.DeleteFunc(tools, func(raw json.RawMessage) bool { return raw == nil })
}

// Echo returns the tools as the client gets them back. plain are those that the gateway has given back: it has one for
// each that it was sent.
func (h *Tools) Echo(plain []json.RawMessage) []json.RawMessage {
	tools := []json.RawMessage{}
	for i, raw := range h.sent() {
		var back json.RawMessage
		if raw != nil && len(plain) > 0 {
			back, plain = plain[0], plain[1:]
		}
		switch d := &h.declared[i]; {
		case d.server != nil:
			back = d.server.echo(d.raw)
		case d.builtin != "", d.search && !d.ignored:
			back = d.raw
		}
		if back != nil {
			tools = append(tools, back)
		}
	}
	return tools
}
