// Command mcpclient lists the tools of an MCP server and calls each of them, as the responses service does. It is what
// the conformance tests of MCP run, which append the server's URL:
//
//	mcpclient URL
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// contextVariable has what a scenario wants to be called: {"toolCalls":[{"name":…,"arguments":{…}}]}.
const contextVariable = "MCP_CONFORMANCE_CONTEXT"

// timeout limits everything.
const timeout = 30 * time.Second

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: mcpclient URL")
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	pool := toolserver.NewPool(toolserver.Limits{}, nil, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	defer pool.Close()
	server := &toolserver.Server{Label: "conformance", URL: os.Args[1], Private: true}
	tools, err := pool.Tools(ctx, server, "")
	if err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	calls, err := asked()
	if err != nil {
		return err
	}
	if calls == nil {
		for _, tool := range tools {
			calls = append(calls, toolserver.Call{Name: tool.Name, Arguments: arguments(tool.InputSchema)})
		}
	}
	for _, call := range calls {
		result, err := pool.Call(ctx, server, "", &call)
		if err != nil {
			fmt.Printf("%s %s: %v\n", call.Name, call.Arguments, err) // scenarios have calls that must fail
			continue
		}
		fmt.Printf("%s %s: error %t: %s\n", call.Name, call.Arguments, result.IsError, result.Text)
	}
	return nil
}

// asked returns the calls that the scenario asks for, if it does.
func asked() (calls []toolserver.Call, err error) {
	text := os.Getenv(contextVariable)
	if text == "" {
		return nil, nil
	}
	var scenario struct{ ToolCalls []toolserver.Call }
	if err := json.Unmarshal([]byte(text), &scenario); err != nil {
		return nil, fmt.Errorf("%s: %w", contextVariable, err)
	}
	return scenario.ToolCalls, nil
}

// arguments returns a value for each property of a schema that is a text, a number or a truth value.
func arguments(schema json.RawMessage) json.RawMessage {
	var s struct {
		Properties map[string]struct{ Type any }
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	values := map[string]any{}
	for name, property := range s.Properties {
		switch property.Type {
		case "string":
			values[name] = "text"
		case "number", "integer":
			values[name] = 3
		case "boolean":
			values[name] = true
		}
	}
	text, err := json.Marshal(values)
	if err != nil {
		return nil
	}
	return text
}
