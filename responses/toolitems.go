package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/responses/store"
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

// sendEvent gives the client an event about an item of the service's own.
func (t *turn) sendEvent(emit func(*event) error, kind string, fields map[string]any) error {
	fields["type"], fields["sequence_number"] = kind, t.sequence
	return t.pass(&event{kind: kind, data: mustMarshal(fields)}, emit)
}

// showItem gives the client an item that is finished when it begins.
func (t *turn) showItem(item json.RawMessage, emit func(*event) error) error {
	if err := t.share.take(int64(len(item))); err != nil {
		return err
	}
	return t.during(item, item, emit, func(int) error { return nil })
}

// during shows an item: as it begins, what happens meanwhile, and as it ends.
func (t *turn) during(begun, finished json.RawMessage, emit func(*event) error, meanwhile func(index int) error) error {
	index := t.index
	t.index++
	err := t.sendEvent(emit, "response.output_item.added", map[string]any{"output_index": index, "item": t.shown(begun)})
	if err == nil {
		err = meanwhile(index)
	}
	if err != nil {
		return err
	}
	return t.finishItem(index, finished, emit)
}

// finishItem shows and keeps a finished item.
func (t *turn) finishItem(index int, item json.RawMessage, emit func(*event) error) error {
	t.output = append(t.output, item)
	return t.sendEvent(emit, "response.output_item.done", map[string]any{"output_index": index, "item": t.shown(item)})
}

// showLists shows the tools of servers that the client has not seen yet.
func (t *turn) showLists(emit func(*event) error) error {
	if t.hosted == nil {
		return nil
	}
	for _, m := range t.hosted.servers {
		if m.item == nil {
			continue
		}
		id := itemOf(m.item).ID
		empty := mustMarshal(map[string]any{"id": id, "type": typeListTools, "server_label": m.label, "tools": []string{}})
		err := t.during(empty, m.item, emit, func(index int) error {
			return t.sendEach(emit, index, id, "response.mcp_list_tools.in_progress", "response.mcp_list_tools.completed")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sendEach sends events that tell of an item's progress.
func (t *turn) sendEach(emit func(*event) error, index int, id string, kinds ...string) error {
	for _, kind := range kinds {
		if err := t.sendEvent(emit, kind, map[string]any{"output_index": index, "item_id": id}); err != nil {
			return err
		}
	}
	return nil
}

// progress are the events of a type of call: before and after its arguments, and when the call has ended well or not.
type progress struct {
	before      []string
	delta, done string
	after       []string
	completed   string
	failed      []string
	// argument is the member that done has the arguments in.
	argument string
}

var progressOf = map[string]progress{
	typeMCPCall: {before: []string{"response.mcp_call.in_progress"},
		delta: "response.mcp_call_arguments.delta", done: "response.mcp_call_arguments.done", argument: "arguments",
		completed: "response.mcp_call.completed", failed: []string{"response.mcp_call.failed"}},
	typeSearchCall: {before: []string{"response.web_search_call.in_progress", "response.web_search_call.searching"},
		completed: "response.web_search_call.completed"},
	typeCodeCall: {before: []string{"response.code_interpreter_call.in_progress"},
		delta: "response.code_interpreter_call_code.delta", done: "response.code_interpreter_call_code.done", argument: "code",
		after:     []string{"response.code_interpreter_call.interpreting"},
		completed: "response.code_interpreter_call.completed"},
}

// showCall shows a call while it runs.
func (t *turn) showCall(ctx context.Context, c *toolCall, emit func(*event) error) error {
	p := progressOf[c.itemType()]
	index := t.index
	t.index++
	send := func(kinds ...string) error { return t.sendEach(emit, index, c.id, kinds...) }
	item := map[string]any{"output_index": index, "item": t.shown(t.item(c, store.InProgress))}
	if err := t.sendEvent(emit, "response.output_item.added", item); err != nil {
		return err
	}
	if err := send(p.before...); err != nil {
		return err
	}
	if p.delta != "" {
		about := func() map[string]any { return map[string]any{"output_index": index, "item_id": c.id} }
		delta, done := about(), about()
		delta["delta"], done[p.argument] = c.written, c.written
		if err := t.sendEvent(emit, p.delta, delta); err != nil {
			return err
		}
		if err := t.sendEvent(emit, p.done, done); err != nil {
			return err
		}
	}
	if err := send(p.after...); err != nil {
		return err
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		<-c.done // it ends at once, and a deadline of the tools' is no end of the response
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err
	}
	if err := t.share.take(int64(len(c.result.text) + len(c.written))); err != nil {
		return err
	}
	ended, status := []string{p.completed}, statusCompleted
	switch {
	case c.result.cut:
		ended, status = nil, statusIncomplete
	case c.result.failure != nil:
		ended, status = p.failed, statusFailed
	}
	if status == statusIncomplete && c.itemType() == typeSearchCall { // the API knows no such search
		status = statusFailed
	}
	if err := send(ended...); err != nil {
		return err
	}
	return t.finishItem(index, t.item(c, status), emit)
}

// showCut shows calls that were not run, because the answer ended too early.
func (t *turn) showCut(ctx context.Context, calls []*toolCall, emit func(*event) error) error {
	for _, c := range calls {
		c.result, c.done = &toolResult{text: textOfCut, cut: true}, make(chan struct{})
		close(c.done)
		if err := t.showCall(ctx, c, emit); err != nil {
			return err
		}
	}
	return nil
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
		} else {
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
	if item.Error != nil && !isNull(item.Error) {
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
	return strings.Join(parts, "\n")
}

// withoutHidden returns an item as its client gets it: without what is only for the service, and what is only for
// clients that ask for it.
func withoutHidden(raw json.RawMessage, include []string) json.RawMessage {
	if !bytes.Contains(raw, []byte(hiddenPrefix)) && !bytes.Contains(raw, []byte(typeCodeCall)) {
		return raw
	}
	kind := itemOf(raw).Type
	if kind != typeSearchCall && kind != typeCodeCall && kind != typeMCPCall && kind != typeMessage &&
		kind != typeApprovalResponse {
		return raw
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	changed := false
	for _, name := range []string{hiddenItems, hiddenClient} {
		if fields[name] != nil {
			delete(fields, name)
			changed = true
		}
	}
	switch {
	case kind == typeCodeCall && !slices.Contains(include, includeCodeOutputs):
		fields["outputs"] = json.RawMessage("null")
		changed = true
	case kind == typeSearchCall && !slices.Contains(include, includeSources):
		changed = withoutSources(fields) || changed
	}
	if !changed {
		return raw
	}
	return mustMarshal(fields)
}
