package responses

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// The model is told of each failure, whatever the server says of it.
func TestToolFails(t *testing.T) {
	tool := func(contents ...mcp.Content) toolservers.Tool {
		return toolservers.Tool{Name: "fail", Answer: func(json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: contents}, nil
		}}
	}
	for told, failing := range map[string]toolservers.Tool{
		"no such city":                tool(&mcp.TextContent{Text: "no such city"}),
		"Error: the tool has failed.": tool(&mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png"}),
	} {
		f, gateway, _ := startTools(t, ToolOptions{}, []string{answerOf("completed", 1, 1, callItem("t", "fail", `{}`)),
			answerOf("completed", 1, 1, textItem("done"))}, failing)
		r := f.ask(`"input":"go",` + never)
		if r.types() != "mcp_list_tools mcp_call message" || r.Output[1]["status"] != items.Failed ||
			r.Output[1]["error"].(map[string]any)["type"] != "mcp_tool_execution_error" ||
			!strings.Contains(gateway.last(), `"output":"`+told+`"`) {
			t.Errorf("%s: %+v %s", told, r, gateway.last())
		}
	}
}

// The calls of an answer that was cut are shown, and not run.
func TestToolCallsOfCutAnswer(t *testing.T) {
	python := toolservers.Python(t, nil)
	f, _, server := startTools(t, ToolOptions{Servers: []ToolServer{{Label: "py", URL: python.Streamable()}},
		Python: "py"},
		[]string{answerOf("incomplete", 1, 1, callItem("t", "say_it", `{}`), pythonItem("print(1)"))}, saying("hello"))
	r := f.ask(`"input":"go","include":["code_interpreter_call.outputs"],"tools":[{"type":"code_interpreter"},` +
		`{"type":"mcp","server_label":"t","require_approval":"never"}]`)
	if r.types() != "mcp_list_tools mcp_call code_interpreter_call" || r.Output[1]["status"] != items.Incomplete ||
		r.Output[1]["output"] != nil || r.Output[2]["status"] != items.Incomplete || r.Output[2]["outputs"] != nil ||
		len(server.Calls())+len(python.Calls()) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestToolTimeout(t *testing.T) {
	ended := make(chan struct{})
	slow := toolservers.Tool{Name: "slow", Answer: func(json.RawMessage) (*mcp.CallToolResult, error) {
		<-ended
		return &mcp.CallToolResult{}, nil
	}}
	// The list has this time too.
	f, gateway, _ := startTools(t, ToolOptions{CallTime: time.Second}, []string{
		answerOf("completed", 10, 5, callItem("t", "slow", `{}`)),
		answerOf("completed", 25, 5, textItem("done")),
	}, slow)
	t.Cleanup(func() { close(ended) })
	r := f.ask(`"input":"go",` + never)
	if r.types() != "mcp_list_tools mcp_call message" || r.Output[1]["status"] != "failed" ||
		!strings.Contains(gateway.last(), "in time") {
		t.Errorf("%+v", r)
	}
}

func TestToolListingFails(t *testing.T) {
	server := toolservers.Rude(t, toolservers.Unauthorized)
	f := startAt(t, running(ToolOptions{Servers: []ToolServer{{Label: "t", URL: server.Streamable()}}}),
		&script{answers: []string{answerOf("completed", 1, 1)}})
	f.wants(424, "http_error", "POST", "/v1/responses", `{"model":"m","input":"x",`+never+`}`)
}
