package toolservers

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Tool is a tool of a server of [Plain].
type Tool struct {
	Name, Description string
	// Schema is the arguments' schema. Absent, any object will do.
	Schema string
	// ReadOnly is the annotation of that name.
	ReadOnly bool
	// Answer makes a result. Absent, it is the arguments as a text. An error is one of the protocol.
	Answer func(arguments json.RawMessage) (*mcp.CallToolResult, error)
	// texts makes the text of a result in place of Answer. See [Texts].
	texts func(ctx context.Context, arguments json.RawMessage) (string, error)
}

// Plain starts a server with these tools.
func Plain(t testing.TB, tools ...Tool) *Server {
	t.Helper()
	s := newServer()
	server := s.newMCP("plain", "", nil)
	for _, tool := range tools {
		s.add(server, tool)
	}
	return s.start(t, server, nil)
}

func (s *Server) add(server *mcp.Server, tool Tool) {
	schema := json.RawMessage(tool.Schema)
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	answer := tool.Answer
	if answer == nil {
		answer = func(arguments json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(arguments)}}}, nil
		}
	}
	server.AddTool(&mcp.Tool{
		Name: tool.Name, Description: tool.Description, InputSchema: schema,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: tool.ReadOnly},
	}, func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if tool.texts != nil {
			return textOrFailure(tool.texts(ctx, request.Params.Arguments))
		}
		return answer(request.Params.Arguments)
	})
}
