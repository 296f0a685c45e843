package items

import (
	"encoding/json"
	"strings"
)

// plainCall returns a call of an MCP server's tool, and its result, as the model's gateway gets them.
func plainCall(body json.RawMessage) []json.RawMessage {
	var item struct {
		ID        string `json:"id"`
		Label     string `json:"server_label"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
		Output    string `json:"output"`
		Status    string `json:"status"`
		Error     json.RawMessage
	}
	if json.Unmarshal(body, &item) != nil {
		return []json.RawMessage{body}
	}
	text := ResultText(item.Output, item.Error, item.Status)
	return PlainPair(item.ID, item.Label, FunctionName(item.Name), item.Arguments, text)
}

// ResultText returns what the model gets for the result of a call of an MCP server's tool.
func ResultText(output string, failure json.RawMessage, status string) string {
	if Given(failure) {
		return errorText(failure)
	} else if status == Incomplete {
		return TextOfCut
	}
	return output
}

// plainCode returns a call of Python that a client has sent, and its result, as the model's gateway gets them.
func plainCode(body json.RawMessage) []json.RawMessage {
	var item struct {
		ID, Code string
		Outputs  []struct{ Logs string }
	}
	if json.Unmarshal(body, &item) != nil {
		return []json.RawMessage{body}
	}
	var logs strings.Builder
	for i := range item.Outputs {
		logs.WriteString(item.Outputs[i].Logs)
	}
	output := logs.String()
	if output == "" {
		output = "The output is not known."
	}
	return []json.RawMessage{
		JSON(map[string]string{"type": "custom_tool_call", "call_id": item.ID, "name": PythonNamespace,
			"input": item.Code}),
		JSON(map[string]string{"type": "custom_tool_call_output", "call_id": item.ID, "output": output}),
	}
}

// PlainPair returns a call of a function and its result.
func PlainPair(id, namespace, name, arguments, output string) []json.RawMessage {
	return []json.RawMessage{
		JSON(map[string]string{"type": "function_call", "call_id": id, "namespace": namespace, "name": name,
			"arguments": arguments}),
		JSON(map[string]string{"type": "function_call_output", "call_id": id, "output": output}),
	}
}

// errorText returns what the model gets for the error of a call.
func errorText(raw json.RawMessage) string {
	var e struct {
		Message string
		Content []struct{ Type, Text string }
	}
	text := ""
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &e) != nil:
		return string(raw)
	case e.Message != "":
		return "Error: the tool could not be called: " + e.Message
	}
	var parts []string
	for _, c := range e.Content {
		if c.Type == "text" {
			parts = append(parts, c.Text)
		}
	}
	if len(parts) == 0 {
		return "Error: the tool has failed."
	}
	return strings.Join(parts, "\n")
}

// FunctionName returns the name of a tool as the name of a function, which has fewer characters to choose from.
func FunctionName(name string) string {
	b := []byte(name)
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			b[i] = '_'
		}
	}
	if len(b) == 0 {
		return "_"
	}
	return string(b[:min(len(b), MaxFunctionName)])
}

// MaxFunctionName is the longest name of a function in the API.
const MaxFunctionName = 64

// TextOfCut is what the model gets for a call that was not run.
const TextOfCut = "The call was not run, because the answer was cut."
