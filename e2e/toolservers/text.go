package toolservers

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Failure is an error of a tool: a result with this text that says that it is an error.
type Failure string

// Error implements error.
func (f Failure) Error() string { return string(f) }

// Texts is a tool whose results are one text. An error that is no [Failure] is one of the protocol. The context ends
// with the call.
func Texts(name string, answer func(ctx context.Context, arguments json.RawMessage) (string, error)) Tool {
	return Tool{Name: name, texts: answer}
}

func textOrFailure(text string, err error) (*mcp.CallToolResult, error) {
	var failure Failure
	if errors.As(err, &failure) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(failure)}}}, nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, err
}
