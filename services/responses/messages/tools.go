package messages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
)

// declared are the tools of a request.
type declared struct {
	// list are the tools as Responses has them, and places where each stands in the request.
	list   []json.RawMessage
	places []string
	// searches reports whether the web may be searched, and searchAt where the tool stands. maxSearches is how often it
	// may be, or a negative number.
	searches    bool
	searchTool  *anthropic.ServerTool
	maxSearches int64
	// names are the client's names of MCP servers by their labels, and excluded the tools that it does not want of them.
	names    map[string]string
	excluded map[string][]string
	servers  []mcpServer
	used     []bool
}

// mcpServer is an element of mcp_servers.
type mcpServer struct {
	Type  string `json:"type"`
	URL   string `json:"url"`
	Name  string `json:"name"`
	Token string `json:"authorization_token"`
	// Tools is the older form of a toolset.
	Tools *struct {
		Enabled *bool     `json:"enabled"`
		Allowed *[]string `json:"allowed_tools"`
	} `json:"tool_configuration"`
}

// refused is the error for what is not done here.
func refused(at, message string) *openai.Error {
	return refusal.Bad(contract.CodeUnsupportedParameter, at, message)
}

func (d *declared) read(read *translate.ServedMessages, c *input.Caller) *openai.Error {
	d.maxSearches, d.names, d.excluded = -1, map[string]string{}, map[string][]string{}
	for i := range read.Own {
		d.add("tools", function(&read.Own[i]))
	}
	if v := read.MCPServers(); v != nil {
		if json.Unmarshal(v.Value, &d.servers) != nil {
			return refusal.WrongType("mcp_servers", "an array of servers with type, url and name")
		}
		d.used = make([]bool, len(d.servers))
	}
	toolsets := false
	for i := range read.Served {
		tool, failure := &read.Served[i], (*openai.Error)(nil)
		switch {
		case tool.Searches():
			failure = d.readSearch(tool)
		case tool.IsToolset():
			toolsets = true
			failure = d.readToolset(tool, c)
		default:
			failure = tool.Refusal()
		}
		if failure != nil {
			return failure
		}
	}
	for i := range d.servers {
		if toolsets && !d.used[i] {
			return refusal.Bad(contract.CodeInvalidValue, fmt.Sprintf("mcp_servers[%d]", i),
				"No 'mcp_toolset' of 'tools' names this server")
		}
		if !toolsets {
			if failure := d.addOlder(i); failure != nil {
				return failure
			}
		}
	}
	return nil
}

func (d *declared) add(place string, tool json.RawMessage) {
	d.list, d.places = append(d.list, tool), append(d.places, place)
}

// readSearch reads a tool that searches the web. What the browser cannot be held to is refused. The client's place, and
// what only some of Anthropic's tools do, is passed over.
func (d *declared) readSearch(tool *anthropic.ServerTool) *openai.Error {
	at := fmt.Sprintf("tools[%d]", tool.Index)
	var f struct {
		MaxUses *int64   `json:"max_uses"`
		Allowed []string `json:"allowed_domains"`
		Blocked []string `json:"blocked_domains"`
	}
	if json.Unmarshal(tool.Tool.Value, &f) != nil {
		return refusal.WrongType(at, "a tool with max_uses as a number, and allowed_domains and blocked_domains as lists")
	}
	for _, domains := range []struct {
		name string
		list []string
	}{{"allowed_domains", f.Allowed}, {"blocked_domains", f.Blocked}} {
		if len(domains.list) > 0 {
			return refused(at+"."+domains.name, "The browser of this gateway cannot be held to domains. Leave them out")
		}
	}
	if f.MaxUses != nil {
		if *f.MaxUses < 1 {
			return refusal.Bad(contract.CodeInvalidValue, at+".max_uses", "Input should be greater than 0")
		}
		d.maxSearches = *f.MaxUses
	}
	d.searches, d.searchTool = true, tool
	d.add(at, items.JSON(map[string]string{"type": anthropic.WebSearch}))
	return nil
}

// readToolset reads a tool that stands for the tools of an MCP server: one of the request's, or one of the operator's.
func (d *declared) readToolset(tool *anthropic.ServerTool, c *input.Caller) *openai.Error {
	at := fmt.Sprintf("tools[%d]", tool.Index)
	type config struct {
		Enabled *bool `json:"enabled"`
	}
	var f struct {
		Server  string            `json:"mcp_server_name"`
		Default config            `json:"default_config"`
		Configs map[string]config `json:"configs"`
	}
	if json.Unmarshal(tool.Tool.Value, &f) != nil || f.Server == "" {
		return refusal.WrongType(at, "a toolset with mcp_server_name, default_config and configs")
	}
	server := &mcpServer{Name: f.Server}
	i := slices.IndexFunc(d.servers, func(s mcpServer) bool { return s.Name == f.Server })
	if i >= 0 {
		server, d.used[i] = &d.servers[i], true
	} else if c.Settings.Operator.Server(anthropic.ServerLabel(f.Server)) == nil {
		return refusal.Bad(contract.CodeInvalidValue, at+".mcp_server_name", "'mcp_servers' has no server "+
			refusal.Quote(f.Server)+", and neither has this gateway")
	}
	var allowed *[]string
	if on := f.Default.Enabled; on != nil && !*on {
		allowed = &[]string{}
	}
	label := anthropic.ServerLabel(server.Name)
	for name, c := range f.Configs {
		switch on := c.Enabled == nil && allowed == nil || c.Enabled != nil && *c.Enabled; {
		case allowed != nil && on:
			*allowed = append(*allowed, name)
		case allowed == nil && !on:
			d.excluded[label] = append(d.excluded[label], name)
		}
	}
	place := at
	if i >= 0 {
		place = fmt.Sprintf("mcp_servers[%d]", i)
	}
	return d.addServer(place, server, allowed)
}

// addOlder adds a server in the older form of the API, whose tools need no toolset.
func (d *declared) addOlder(i int) *openai.Error {
	server := &d.servers[i]
	var allowed *[]string
	if t := server.Tools; t != nil {
		if t.Enabled != nil && !*t.Enabled {
			return nil
		}
		allowed = t.Allowed
	}
	return d.addServer(fmt.Sprintf("mcp_servers[%d]", i), server, allowed)
}

// addServer adds the tools of an MCP server. The API asks for no approvals.
func (d *declared) addServer(place string, server *mcpServer, allowed *[]string) *openai.Error {
	if server.Name == "" {
		return refusal.Bad(contract.CodeMissingParameter, place+".name", "Field required")
	}
	label := anthropic.ServerLabel(server.Name)
	if _, again := d.names[label]; again {
		return refusal.Bad(contract.CodeInvalidValue, place+".name", "Two servers have this name, or one that looks like it")
	}
	d.names[label] = server.Name
	tool := map[string]any{"type": "mcp", "server_label": label, "require_approval": "never"}
	if server.URL != "" {
		tool["server_url"] = server.URL
	}
	if server.Token != "" {
		tool["authorization"] = server.Token
	}
	if allowed != nil {
		tool["allowed_tools"] = *allowed
	}
	d.add(place, items.JSON(tool))
	return nil
}

// Narrow holds the tools that the service runs to what the client has asked for. It returns an error for those that
// nothing runs, or that this API cannot have: a model that cannot search would answer as if it had (RATIONALE.md#244).
func (r *Request) Narrow(h *hosted.Tools) *openai.Error {
	if r.tools.searches && (h == nil || h.Builtins[items.BrowserNamespace] == nil) {
		return r.tools.searchTool.Refusal()
	}
	if len(r.tools.names) > 0 && h == nil {
		return refused("mcp_servers", "MCP servers are not called here. Connect to them yourself, and declare their tools "+
			"in 'tools'")
	}
	if label := h.Approving(); label != "" {
		return refused("mcp_servers", "The calls of "+refusal.Quote(r.tools.name(label))+" need an approval, which this API "+
			"does not have. Use the Responses API")
	}
	if h == nil {
		return nil
	}
	h.LimitSearches(r.tools.maxSearches)
	for label, names := range r.tools.excluded {
		h.Exclude(label, names)
	}
	return nil
}

// name returns the client's name of an MCP server.
func (d *declared) name(label string) string {
	if name, ok := d.names[label]; ok {
		return name
	}
	return label
}

// place returns a place in the request for one in the request to Responses.
func (d *declared) place(param string) string {
	rest, ofTools := strings.CutPrefix(param, "tools[")
	number, rest, closed := strings.Cut(rest, "]")
	at := -1
	if ofTools && closed {
		if _, err := fmt.Sscan(number, &at); err != nil || at >= len(d.places) {
			at = -1
		}
	}
	if at < 0 {
		return param
	}
	place := d.places[at]
	if strings.HasPrefix(place, "mcp_servers[") {
		for from, to := range map[string]string{".server_url": ".url", ".server_label": ".name",
			".authorization": ".authorization_token", ".allowed_tools": ""} {
			if rest == from {
				rest = to
			}
		}
	}
	return place + rest
}
