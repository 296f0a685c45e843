package responses

import (
	"encoding/json"
	"strings"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// The types of items of tools that the service runs.
const (
	typeListTools        = "mcp_list_tools"
	typeMCPCall          = "mcp_call"
	typeApprovalRequest  = "mcp_approval_request"
	typeApprovalResponse = "mcp_approval_response"
	typeSearchCall       = "web_search_call"
	typeCodeCall         = "code_interpreter_call"
)

// The members of items that no client can see or write. hiddenItems are what the model gets in place of the item, and
// hiddenClient is the id by which the browser's server knows the chain.
const (
	hiddenItems  = hiddenPrefix + "items"
	hiddenClient = hiddenPrefix + "client"
)

// builtinItem returns the type of the item for a call of one of gpt-oss's own tools.
func builtinItem(namespace string) string {
	switch namespace {
	case browserNamespace:
		return typeSearchCall
	case pythonNamespace:
		return typeCodeCall
	}
	return typeMCPCall
}

func (c *toolCall) itemType() string {
	if c.namespace == "" {
		return typeMCPCall
	}
	return builtinItem(c.namespace)
}

// item returns the item of a call. It has a result unless it is in progress.
func (t *turn) item(c *toolCall, status string) json.RawMessage {
	item := map[string]any{"id": c.id, "type": c.itemType(), "status": status}
	begins := status == store.InProgress
	switch c.itemType() {
	case typeSearchCall:
		item["action"] = t.browserAction(c, !begins)
	case typeCodeCall:
		item["code"], item["outputs"], item["container_id"] = c.written, nil, "auto"
		if begins {
			item["code"] = ""
		} else if !c.result.cut {
			item["outputs"] = []any{map[string]string{"type": "logs", "logs": c.result.text}}
		}
	default:
		label := c.namespace
		if c.server != nil {
			label = c.server.label
		}
		item["server_label"], item["name"], item["arguments"] = label, c.name, c.written
		item["output"], item["error"], item["approval_request_id"] = nil, nil, nil
		if c.approved != "" {
			item["approval_request_id"] = c.approved
		}
		if begins {
			item["arguments"] = ""
		} else if c.result.failure != nil {
			item["error"] = c.result.failure
		} else if !c.result.cut {
			item["output"] = c.result.text
		}
	}
	if c.namespace != "" && !begins {
		item[hiddenItems] = []any{c.plain, map[string]any{"type": c.plain["type"].(string) + "_output",
			"call_id": c.plain["call_id"], "output": c.result.text}}
		item[hiddenClient] = t.browserClient()
	}
	return mustMarshal(item)
}

// textOfCut is what the model gets for a call that was not run.
const textOfCut = "The call was not run, because the answer was cut."

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
	text := item.Output
	if given(item.Error) {
		text = errorText(item.Error)
	} else if item.Status == statusIncomplete {
		text = textOfCut
	}
	return plainPair(item.ID, item.Label, functionName(item.Name), item.Arguments, text)
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
		mustMarshal(map[string]string{"type": "custom_tool_call", "call_id": item.ID, "name": pythonNamespace,
			"input": item.Code}),
		mustMarshal(map[string]string{"type": "custom_tool_call_output", "call_id": item.ID, "output": output}),
	}
}

func plainPair(id, namespace, name, arguments, output string) []json.RawMessage {
	return []json.RawMessage{
		mustMarshal(map[string]string{"type": "function_call", "call_id": id, "namespace": namespace, "name": name,
			"arguments": arguments}),
		mustMarshal(map[string]string{"type": "function_call_output", "call_id": id, "output": output}),
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
