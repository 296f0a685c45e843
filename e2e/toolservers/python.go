package toolservers

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pythonTools is what the reference server lists.
//
//go:embed testdata/python_tools.json
var pythonTools []byte

// noOutput is what the reference answers for code that prints nothing.
const noOutput = "[WARN] No output available. Use print() to output anything to stdout to receive the output"

// PythonOutputs is what the code of tests prints.
var PythonOutputs = map[string]string{
	"print(6*7)":       "42\n",
	"x = 1":            "",
	"print('é😀')":      "é😀\n",
	"print('a' * 100)": strings.Repeat("a", 100) + "\n",
	"1/0": "Traceback (most recent call last):\n  File \"/tmp/script.py\", line 1, in <module>\n    1/0\n    ~^~\n" +
		"ZeroDivisionError: division by zero\n",
}

// Python starts a server with gpt-oss's tool python, which runs nothing: outputs has what each code prints, nil means
// [PythonOutputs]. Code that is not there is a NameError.
func Python(t testing.TB, outputs map[string]string) *Server {
	t.Helper()
	if outputs == nil {
		outputs = PythonOutputs
	}
	s := newServer()
	listed := readTools(t, pythonTools)
	server := s.newMCP("python", listed.Instructions, versions)
	for _, tool := range listed.Tools {
		server.AddTool(tool, func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var arguments struct {
				Code *string `json:"code"`
			}
			if err := json.Unmarshal(request.Params.Arguments, &arguments); err != nil || arguments.Code == nil {
				return failed(tool.Name, "1 validation error for pythonArguments\ncode\n  Field required"), nil
			}
			output, ok := outputs[strings.TrimSpace(*arguments.Code)]
			if !ok {
				output = "Traceback (most recent call last):\n  File \"/tmp/script.py\", line 1, in <module>\n" +
					"NameError: name 'code' is not defined\n"
			}
			if strings.TrimSpace(output) == "" {
				output = noOutput
			}
			return textResult(output), nil
		})
	}
	return s.start(t, server, nil)
}

// listing is what a reference server says of itself, and its tools.
type listing struct {
	Instructions string      `json:"instructions"`
	Tools        []*mcp.Tool `json:"tools"`
}

func readTools(t testing.TB, text []byte) listing {
	t.Helper()
	var l listing
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatal(err)
	}
	return l
}
