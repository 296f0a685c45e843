package hosted

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// Server are the tools of one MCP server, as a request offers them.
type Server struct {
	// At is the tool's place in the request.
	At, Label, description string
	To                     *toolserver.Server
	// configured reports whether the operator has set the server up. secret reports whether the request has credentials
	// for it.
	configured, secret bool
	// deferred reports whether the model is shown a tool only when a search has found it.
	deferred bool
	// allowed choose the tools that the request and the operator offer.
	allowed []filter
	// excluded are names of tools that the request does not offer.
	excluded []string
	// always and never are calls that need an approval, and calls that need none.
	always, never filter
	// chosen are the names of the tools that the request's tool choice leaves, or nil for any. An empty one stands for all.
	chosen map[string]bool

	// Tools are those that are offered, when they have been listed. item is the list that the client has not seen yet.
	Tools []Tool
	Item  json.RawMessage
}

// Tool is one tool of a server.
type Tool struct {
	toolserver.Tool
	// shown is the name that the model sees. It is empty for a tool that the model cannot be shown.
	shown string
}

// needsApproval reports whether a call of a tool waits for an approval. A tool that neither filter chooses does.
func (m *Server) needsApproval(t *toolserver.Tool) bool {
	return m.always.chooses(t) || !m.never.chooses(t)
}

func (m *Server) offers(t *toolserver.Tool) bool {
	if slices.Contains(m.excluded, t.Name) {
		return false
	}
	for i := range m.allowed {
		if !m.allowed[i].chooses(t) {
			return false
		}
	}
	return true
}

// Offer keeps the tools that the request and the operator offer, each under a name that the model can be shown.
func (m *Server) Offer(log *slog.Logger, tools []toolserver.Tool) {
	m.Tools = []Tool{}
	used := map[string]bool{}
	hidden, first, reason := 0, "", "" // a line for each could be thousands
	for i := range tools {
		if !m.offers(&tools[i]) {
			continue
		}
		tool := Tool{Tool: tools[i], shown: unusedName(items.FunctionName(tools[i].Name), used)}
		tool.InputSchema = bytes.ToValidUTF8(tool.InputSchema, []byte("\uFFFD"))
		if failure := checkTool(&tool); failure != nil {
			if hidden++; hidden == 1 {
				first, reason = tool.Name, failure.Message
			}
			tool.shown = ""
		}
		m.Tools = append(m.Tools, tool)
	}
	if hidden > 0 {
		log.Warn("tools of an MCP server are not shown to the model", "server", m.MetricLabel(), "tools", hidden, "first",
			openai.Clip(first, refusal.MaxLogged), "reason", reason)
	}
}

func unusedName(name string, used map[string]bool) string {
	unused := name
	for n := 2; used[unused]; n++ {
		suffix := "_" + strconv.Itoa(n)
		unused = name[:min(len(name), items.MaxFunctionName-len(suffix))] + suffix
	}
	used[unused] = true
	return unused
}

// checkTool returns the error with which the gateway would refuse a tool, and with it the request.
func checkTool(tool *Tool) *openai.Error {
	body, failure := openai.Open(items.JSON(map[string]any{"model": "m", "input": "",
		"tools": []any{tool.function(false)}}))
	if failure == nil {
		_, failure = openai.DecodeResponsesRequest(body)
	}
	return failure
}

// function returns the tool as the gateway gets it.
func (t *Tool) function(deferred bool) json.RawMessage {
	function := map[string]any{"type": "function", "name": t.shown, "description": t.Description, "strict": false}
	if len(t.InputSchema) > 0 {
		function["parameters"] = t.InputSchema
	}
	if deferred {
		function["defer_loading"] = true
	}
	return items.JSON(function)
}

// namespace returns the tools as the gateway gets them, or nil if there are none.
func (m *Server) namespace() json.RawMessage {
	functions := []json.RawMessage{}
	for i := range m.Tools {
		if m.shows(&m.Tools[i]) {
			functions = append(functions, m.Tools[i].function(m.deferred))
		}
	}
	if len(functions) == 0 {
		return nil
	}
	return items.JSON(map[string]any{"type": "namespace", "name": m.Label, "description": m.description,
		"tools": functions})
}

// shows reports whether the model is shown a tool.
func (m *Server) shows(t *Tool) bool {
	return t.shown != "" && (m.chosen == nil || m.chosen[""] || m.chosen[t.Name])
}

// find returns the tool that the model sees under a name, or nil.
func (m *Server) find(shown string) *Tool {
	for i := range m.Tools {
		if m.Tools[i].shown == shown && m.shows(&m.Tools[i]) {
			return &m.Tools[i]
		}
	}
	return nil
}

// Named returns the tool with a name of the server's, or nil.
func (m *Server) Named(name string) *Tool {
	for i := range m.Tools {
		if m.Tools[i].Name == name {
			return &m.Tools[i]
		}
	}
	return nil
}

// echo returns the tool as the client gets it back: with what the API shows for what it has left out, and with the
// approvals that it needs.
func (m *Server) echo(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	for _, name := range []string{"allowed_tools", "headers"} {
		if fields[name] == nil {
			fields[name] = json.RawMessage("null")
		}
	}
	missing := items.Missing(fields, "require_approval")
	switch {
	case missing && m.never.all:
		fields["require_approval"] = items.JSON(approvalNever)
	case missing, m.always.all:
		fields["require_approval"] = items.JSON(approvalAlways)
	}
	return items.JSON(fields)
}

// MetricLabel returns the server's name in metrics and logs. Labels of clients' would be too many.
func (m *Server) MetricLabel() string {
	if m.configured {
		return m.Label
	}
	return OfRequest
}

// OfRequest stands for servers that requests name.
const OfRequest = "(of a request)"
