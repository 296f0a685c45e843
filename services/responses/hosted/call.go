package hosted

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// Call is a call of a tool that the service runs.
type Call struct {
	ID string
	// Namespace is the namespace of gpt-oss's own tool, or empty for a tool of an MCP server's.
	Namespace string
	// Server and tool are for a tool of an MCP server. The tool is nil if the server has no tool of this name.
	Server *Server
	tool   *Tool
	To     *toolserver.Server
	// Search reports whether it is a call of the service's search for tools.
	Search bool
	// Label is the server's in metrics and logs.
	Label string
	// Name is the tool's, as its server knows it. Sent are the arguments for the server, and Written the model's.
	Name          string
	Sent, Written string
	// Plain is the call as the model's gateway gets it.
	Plain map[string]any
	// Sampled are the ids with which the model has written its answer, whose last item the call is: as they are stored,
	// and as the client gets them. Both are empty if they are not known.
	Sampled, Shown string
	// Denied reports whether it is a search of the web too many.
	Denied bool
	// Approved is the id of the question that the client has answered, or empty.
	Approved string

	// Done is closed when there is a result. Nobody reads Result before.
	Done   chan struct{}
	Result *Result
}

// Result is what a call has returned.
type Result struct {
	// Text is what the model gets.
	Text string
	// Failure is the error of the item, or nil.
	Failure any
	// Cut reports whether the call was not run, because the answer ended too early.
	Cut bool
	// Tools are what a search has found.
	Tools []json.RawMessage
}

// CallOf returns the call that an item of the gateway's is, or nil if the item is for the client.
func (h *Tools) CallOf(raw json.RawMessage) *Call {
	if h == nil {
		return nil
	}
	var item calledItem
	if json.Unmarshal(raw, &item) != nil {
		return nil
	}
	c := h.callOf(&item)
	if c != nil {
		c.Sampled, c.Shown = item.Sampled, item.Shown
	}
	return c
}

// calledItem is what of an item of the gateway's makes a call.
type calledItem struct {
	Type, Name, Namespace, Input string
	// Arguments are a text, or an object if it is a search for tools.
	Arguments json.RawMessage
	CallID    string `json:"call_id"`
	Sampled   string `json:"harmony_sampled_ids"`
	Shown     string `json:"sampled_ids"`
}

// arguments returns the arguments as a text.
func (i *calledItem) arguments() (text string) {
	if json.Unmarshal(items.OrNull(i.Arguments), &text) != nil {
		return string(i.Arguments)
	}
	return text
}

// callOf is [Tools.CallOf] for an item that has been read.
func (h *Tools) callOf(item *calledItem) *Call {
	arguments := item.arguments()
	switch item.Type {
	case items.TypeToolSearch:
		if h.Searches() {
			return &Call{ID: items.NewID(items.Prefixes[item.Type]), Search: true, Label: OfSearch, Name: typeSearch,
				Sent: arguments, Written: arguments}
		}
	case "function_call":
		if m := h.Server(item.Namespace); m != nil {
			return m.Call(m.find(item.Name), item.Name, arguments)
		}
		namespace, name, _ := strings.Cut(item.Name, ".")
		if to := h.Builtins[namespace]; to != nil && item.Namespace == "" && name != "" {
			return &Call{ID: items.NewID(items.Prefixes[items.BuiltinItem(namespace)]), Namespace: namespace, To: to,
				Label: to.Label,
				Name:  name, Sent: arguments, Written: arguments,
				Plain: map[string]any{"type": item.Type, "name": item.Name, "call_id": item.CallID,
					"arguments": arguments}}
		}
	case "custom_tool_call":
		if to := h.Builtins[items.PythonNamespace]; to != nil && item.Name == items.PythonNamespace &&
			item.Namespace == "" {
			return &Call{ID: items.NewID(items.Prefixes[items.TypeCodeCall]), Namespace: items.PythonNamespace, To: to,
				Label: to.Label,
				Name:  items.PythonNamespace, Written: item.Input,
				Sent:  string(items.JSON(map[string]string{"code": item.Input})),
				Plain: map[string]any{"type": item.Type, "name": item.Name, "call_id": item.CallID, "input": item.Input}}
		}
	}
	return nil
}

// Call returns a call of a server's tool. tool is nil if there is none with this name.
func (m *Server) Call(tool *Tool, name, arguments string) *Call {
	c := &Call{ID: items.NewID(items.Prefixes[items.TypeMCPCall]), Server: m, tool: tool, To: m.To,
		Label: m.MetricLabel(), Name: name,
		Sent: arguments, Written: arguments}
	if tool != nil {
		c.Name = tool.Name
	}
	return c
}

// NeedsApproval reports whether the client has to approve the call first.
func (c *Call) NeedsApproval() bool {
	return c.Server != nil && c.tool != nil && c.Approved == "" && c.Server.needsApproval(&c.tool.Tool)
}

// ApprovalRequest returns the item that asks the client for its approval.
func (c *Call) ApprovalRequest() json.RawMessage {
	item := map[string]string{"type": items.TypeApprovalRequest,
		"id":           items.NewID(items.Prefixes[items.TypeApprovalRequest]),
		"server_label": c.Server.Label, "name": c.Name, "arguments": c.Written}
	if c.Sampled != "" {
		item[items.HiddenSampled] = c.Sampled
	}
	return items.JSON(item)
}

// ItemType returns the type of the call's item.
func (c *Call) ItemType() string {
	switch {
	case c.Search:
		return items.TypeToolSearch
	case c.Namespace == "":
		return items.TypeMCPCall
	}
	return items.BuiltinItem(c.Namespace)
}

// Offers reports whether the tool of a call is one that its server and the operator offer, and that gpt-oss knows.
func (s *Operator) Offers(c *Call) bool {
	if c.Server != nil {
		return c.tool != nil
	}
	allowed := s.Server(c.Label).AllowedTools
	return slices.Contains(builtinTools[c.Namespace], c.Name) && (len(allowed) == 0 || slices.Contains(allowed, c.Name))
}
