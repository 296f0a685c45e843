package anthropic

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The types of blocks of tools that a server has run.
const (
	typeServerUse    = "server_tool_use"
	typeSearchResult = "web_search_tool_result"
	typeMCPUse       = "mcp_tool_use"
	typeMCPResult    = "mcp_tool_result"
)

// WebSearch is the name of the tool with which a server searches the web.
const WebSearch = "web_search"

// readServer reads a block of a tool that a server has run. It reports whether it knows its form. Only wrong parts
// inside a result are errors: the client has not written these blocks, and could not mend them (RATIONALE.md#245).
func (r *reader) readServer(f *fields, at place) (known bool, err *openai.Error) {
	b := &r.block
	switch kind := rawjson.View(f.kind); kind {
	case typeServerUse, typeMCPUse:
		b.begin(BlockServerUse)
		ofMCP := kind == typeMCPUse
		if !taken(&f.id, &b.ID) || !taken(&f.name, &b.Name) || ofMCP && !taken(&f.serverName, &b.Server) {
			return false, nil
		}
		if ofMCP {
			b.Server, b.Name = ServerLabel(b.Server), functionName(b.Name)
		} else if b.Name != WebSearch {
			return false, nil // another tool of Anthropic's own
		}
		b.readInput(&f.input)
		return true, nil
	case typeSearchResult:
		b.begin(BlockServerResult)
		if !taken(&f.toolUseID, &b.ID) {
			return false, nil
		}
		return true, r.readPages(&f.content, at.in("content"))
	default:
		b.begin(BlockServerResult)
		if !taken(&f.toolUseID, &b.ID) {
			return false, nil
		}
		return true, r.readParts(&f.content, at.in("content"), true)
	}
}

// taken takes a text that is not empty, and reports whether it was there.
func taken(v *rawjson.Part, dst *string) bool {
	if v.Kind != rawjson.String || len(v.Value) == 0 {
		return false
	}
	*dst = rawjson.Unescape(v.Value)
	return true
}

// readPages reads what a search has found: the titles and the addresses of pages, and the sealed text of the first page
// that has one. A search that has failed has a word for that.
func (r *reader) readPages(content *rawjson.Part, at place) *openai.Error {
	b := &r.block
	if content.Kind == rawjson.Object {
		if code, kind := rawjson.Find(content.Value, "error_code"); kind == rawjson.String {
			b.Content = append(b.Content, "Error: "+rawjson.Unescape(code))
		}
		return nil
	}
	if content.Kind != rawjson.Array {
		return nil
	}
	list := content.Items()
	for i := 0; list.Next(); i++ {
		page, at := list.Part(), at.part(i)
		if err := r.count(1, at); err != nil {
			return err
		}
		var title, url, sealed rawjson.Part
		members := page.Items()
		for members.Next() {
			switch rawjson.View(members.Key) {
			case "title":
				title = members.Part()
			case "url":
				url = members.Part()
			case "encrypted_content":
				sealed = members.Part()
			}
		}
		if sealed.Kind == rawjson.String && len(b.Sealed) == 0 {
			b.Sealed = sealed.Value // no sealed text of ours has an escape
		}
		for _, v := range [...]*rawjson.Part{&title, &url} {
			if v.Kind == rawjson.String {
				b.addTitle(v.Value)
			}
		}
	}
	return nil
}

// The longest name of a function, and of an MCP server.
const maxFunctionName = 64

// functionName returns the name of a tool as the name of a function, which has fewer characters to choose from.
func functionName(name string) string {
	b := []byte(name)
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			b[i] = '_'
		}
	}
	if len(b) == 0 {
		return "_"
	}
	return string(b[:min(len(b), maxFunctionName)])
}

// ServerLabel returns the name of an MCP server as Responses has it: a letter, and then letters, digits, '-' and '_'.
func ServerLabel(name string) string {
	label := functionName(name)
	if c := label[0]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return label
	}
	label = "s" + label
	return label[:min(len(label), maxFunctionName)]
}

// searchTools begins the types of tools that search the web.
const searchTools = WebSearch + "_"

// toolset is the type of a tool that stands for the tools of an MCP server.
const toolset = "mcp_toolset"

// ServerTool is a tool of a request that a server has to run.
type ServerTool struct {
	// Index is its place among the tools, and Kind its type.
	Index int
	Kind  string
	// Tool is the tool as it is spelled.
	Tool rawjson.Part
}

// Searches reports whether the tool searches the web.
func (t *ServerTool) Searches() bool {
	return t.Kind == WebSearch || strings.HasPrefix(t.Kind, searchTools)
}

// IsToolset reports whether the tool stands for the tools of an MCP server.
func (t *ServerTool) IsToolset() bool { return t.Kind == toolset }

// Refusal returns the error for the tool where nothing runs it. Claude Code hands the error to the model as a result.
func (t *ServerTool) Refusal() *openai.Error {
	return serverTool(top("tools").element(t.Index), t.Kind)
}

// MCPServers returns the member mcp_servers, or nil if it names no servers.
func (r *Request) MCPServers() *rawjson.Part {
	if items := r.mcpServers.Items(); !items.Next() {
		return nil
	}
	return &r.mcpServers
}

// RefuseServers returns the error for MCP servers where nothing calls them.
func (r *Request) RefuseServers() *openai.Error {
	if r.MCPServers() == nil {
		return nil
	}
	return unsupported(top("mcp_servers"), "MCP servers are not called here. Connect to them yourself, and declare "+
		"their tools in 'tools'. "+byOperator+"'responses_service.tools'")
}

// byOperator begins what an operator can do so that the gateway runs a tool.
const byOperator = "Or ask the operator of this gateway to set "

// serverTool refuses a tool that a server would have to run.
func serverTool(at place, kind string) *openai.Error {
	setting := ""
	switch t := (ServerTool{Kind: kind}); {
	case t.Searches():
		setting = ". " + byOperator + "'responses_service.tools.browser'"
	case t.IsToolset():
		setting = ". " + byOperator + "'responses_service.tools'"
	}
	return unsupported(at, "The tool '"+openai.Clip(kind, maxQuoted)+"' is not run here. Declare a tool of your own with "+
		"an 'input_schema', and run it yourself"+setting)
}

// NeedsService reports whether a body of POST /v1/messages has tools that a server would have to run. It ignores values
// of a wrong type, which the decoder reports.
func NeedsService(b *openai.Body) bool {
	root := b.Root()
	members := root.Items()
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "mcp_servers":
			servers := members.Part()
			if items := servers.Items(); items.Next() {
				return true
			}
		case "tools":
			tools := members.Part()
			list := tools.Items()
			for list.Next() {
				if tool := list.Part(); ofServer(&tool) {
					return true
				}
			}
		}
	}
	return false
}

// ofServer reports whether a server has to run a tool, as [readTool] does.
func ofServer(tool *rawjson.Part) bool {
	kind := ""
	members := tool.Items()
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "type":
			kind = word(&members)
		case "input_schema":
			if schema := members.Part(); schema.Given() {
				return false
			}
		}
	}
	return kind != "" && kind != "custom" && !strings.HasPrefix(kind, serverSearch)
}
