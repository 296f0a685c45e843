package toolservers

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ContainerOutputs is what the commands of tests write.
var ContainerOutputs = map[string]string{
	"echo hello":       "hello\n",
	"bash -lc ls /mnt": "data.csv\n",
	"true":             "",
}

// execSchema has the arguments that vLLM's description of the tool container.exec names. There is no reference server.
const execSchema = `{"type":"object","properties":{
	"cmd":{"type":"array","items":{"type":"string"}},
	"workdir":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},
	"env":{"anyOf":[{"type":"object","additionalProperties":{"type":"string"}},{"type":"null"}],"default":null},
	"session_name":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},
	"timeout":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},
	"user":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}},"required":["cmd"]}`

// Container starts a server with the tool exec, which runs nothing: outputs has what each command writes, by its words
// joined with spaces, and nil means [ContainerOutputs]. A command that is not there is one that the container lacks.
func Container(t testing.TB, outputs map[string]string) *Server {
	t.Helper()
	if outputs == nil {
		outputs = ContainerOutputs
	}
	s := newServer()
	server := s.newMCP("container", "Utilities for interacting with a container.", versions)
	server.AddTool(&mcp.Tool{Name: "exec", Description: "Runs a command in the container.",
		InputSchema: json.RawMessage(execSchema)},
		func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var arguments struct {
				Command []string `json:"cmd"`
			}
			if err := json.Unmarshal(request.Params.Arguments, &arguments); err != nil || len(arguments.Command) == 0 {
				return failed("exec", "1 validation error for execArguments\ncmd\n  Field required"), nil
			}
			output, ok := outputs[strings.Join(arguments.Command, " ")]
			if !ok {
				output = "bash: line 1: " + arguments.Command[0] + ": command not found\n"
			}
			return textResult(output), nil
		})
	return s.start(t, server, nil)
}
