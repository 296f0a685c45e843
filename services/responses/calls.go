package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
)

// toolCall is a call of a tool that the service runs.
type toolCall struct {
	id string
	// namespace is that of gpt-oss's own tool, or empty for a tool of an MCP server's.
	namespace string
	// server and tool are those of an MCP server's. tool is nil if the server has none of this name.
	server *mcpTools
	tool   *mcpTool
	to     *toolserver.Server
	// label is the server's in metrics and logs.
	label string
	// name is the tool's, as its server knows it. sent are the arguments for the server, and written those of the model.
	name          string
	sent, written string
	// plain is the call as the model's gateway gets it.
	plain map[string]any
	// approved is the id of the question that the client has answered, or empty.
	approved string

	// done is closed when there is a result. Nobody reads result before.
	done   chan struct{}
	result *toolResult
}

// toolResult is what a call has returned.
type toolResult struct {
	// text is what the model gets.
	text string
	// failure is the error of the item, or nil.
	failure any
	// cut reports whether the call was not run, because the answer ended too early.
	cut bool
}

// callOf returns the call that an item of the gateway's is, or nil if the item is for the client.
func (h *hosted) callOf(raw json.RawMessage) *toolCall {
	if h == nil {
		return nil
	}
	var item struct {
		Type, Name, Namespace, Arguments, Input string
		CallID                                  string `json:"call_id"`
	}
	if json.Unmarshal(raw, &item) != nil {
		return nil
	}
	switch item.Type {
	case "function_call":
		if m := h.server(item.Namespace); m != nil {
			return m.call(m.find(item.Name), item.Name, item.Arguments)
		}
		namespace, name, _ := strings.Cut(item.Name, ".")
		if to := h.builtins[namespace]; to != nil && item.Namespace == "" && name != "" {
			return &toolCall{id: items.NewID(items.Prefixes[items.BuiltinItem(namespace)]), namespace: namespace, to: to,
				label: to.Label,
				name:  name, sent: item.Arguments, written: item.Arguments,
				plain: map[string]any{"type": item.Type, "name": item.Name, "call_id": item.CallID,
					"arguments": item.Arguments}}
		}
	case "custom_tool_call":
		if to := h.builtins[items.PythonNamespace]; to != nil && item.Name == items.PythonNamespace &&
			item.Namespace == "" {
			return &toolCall{id: items.NewID(items.Prefixes[items.TypeCodeCall]), namespace: items.PythonNamespace, to: to,
				label: to.Label,
				name:  items.PythonNamespace, written: item.Input,
				sent:  string(items.JSON(map[string]string{"code": item.Input})),
				plain: map[string]any{"type": item.Type, "name": item.Name, "call_id": item.CallID, "input": item.Input}}
		}
	}
	return nil
}

// call returns a call of a server's tool. tool is nil if there is none with this name.
func (m *mcpTools) call(tool *mcpTool, name, arguments string) *toolCall {
	c := &toolCall{id: items.NewID(items.Prefixes[items.TypeMCPCall]), server: m, tool: tool, to: m.to,
		label: m.metricLabel(), name: name,
		sent: arguments, written: arguments}
	if tool != nil {
		c.name = tool.Name
	}
	return c
}

// needsApproval reports whether the client has to approve the call first.
func (c *toolCall) needsApproval() bool {
	return c.server != nil && c.tool != nil && c.approved == "" && c.server.needsApproval(&c.tool.Tool)
}

// perform runs calls and shows them, in their order.
func (t *turn) perform(ctx context.Context, calls []*toolCall, emit func(*event) error) error {
	if len(calls) == 0 {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, t.deadline)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	t.calls += int64(len(calls))
	client := t.browserClient()
	slots := make(chan struct{}, t.parallel())
	// Results that wait until those before them have been shown have not paid for their memory.
	unshown, left := make(chan struct{}, max(maxUnshown, cap(slots))), make(chan struct{})
	defer close(left)
	for _, c := range calls {
		c.done = make(chan struct{})
	}
	running.Go(func() {
		var stateful chan struct{} // gpt-oss's own tools change with each call, so theirs wait for each other
		for _, c := range calls {
			select {
			case unshown <- struct{}{}:
			case <-left:
				return
			}
			slots <- struct{}{}
			before := stateful
			if c.namespace != "" {
				stateful = c.done
			}
			running.Go(func() {
				defer func() { <-slots }()
				defer close(c.done)
				if c.namespace != "" && before != nil {
					<-before
				}
				c.result = t.runSafely(ctx, c, client)
			})
		}
	})
	for _, c := range calls {
		if err := t.showCall(ctx, c, emit); err != nil {
			return err
		}
		<-unshown
	}
	return nil
}

// maxUnshown is how many calls of a response may have been begun, and not shown yet.
const maxUnshown = 16

// parallel returns how many calls may run at once.
func (t *turn) parallel() int {
	if !t.hosted.parallel {
		return 1
	}
	return t.settings.Tools.Parallel
}

// runSafely is runTool, but for a fault, which costs its own call only.
func (t *turn) runSafely(ctx context.Context, c *toolCall, client string) (result *toolResult) {
	defer func() {
		if fault := recover(); fault != nil {
			t.service.log.Error("a tool was not called", "response", t.id, "reason", fault, "stack", string(debug.Stack()))
			const text = "Error: the tool could not be called."
			result = &toolResult{text: text, failure: protocolError(codeInternal, text)}
		}
	}()
	return t.runTool(ctx, c, client)
}

// runTool runs a call. What goes wrong is a result too, which the model sees.
func (t *turn) runTool(ctx context.Context, c *toolCall, client string) *toolResult {
	s := t.service
	if !t.settings.offers(c) {
		return &toolResult{text: "Error: there is no tool of this name.",
			failure: protocolError(codeInvalidParams, "The server has no tool "+refusal.Quote(c.name)+".")}
	}
	limited, cancel := context.WithTimeout(ctx, t.settings.Tools.CallTime)
	defer cancel()
	limited, span := t.toolSpan(limited, c)
	defer span.End() // also after a fault
	began := time.Now()
	call := &toolserver.Call{Name: c.name, Arguments: json.RawMessage(c.sent)}
	if c.namespace != "" {
		call.ClientID = client
	}
	result, err := s.toolServers.Call(limited, c.to, t.tenant(), call)
	took := time.Since(began)
	outcome := outcomeOf(result, err)
	s.metrics.calledTool(c.label, outcome, took)
	endTool(span, outcome)
	about := []any{"response", t.id, "round", t.rounds, "server", c.label, "tool", openai.Clip(c.name, maxLogged),
		"outcome", outcome, "duration", took}
	var wrong *toolserver.ArgumentsError
	switch {
	case errors.As(err, &wrong):
		s.log.Info("a tool was called", about...)
		text := "Error: " + err.Error()
		return &toolResult{text: text, failure: toolError(text)}
	case err != nil:
		if errors.Is(ctx.Err(), context.Canceled) {
			s.log.Info("a call of a tool was given up", about...)
		} else {
			s.log.Warn("a tool could not be called", append(about, "error", logged(err))...)
		}
		return &toolResult{text: "Error: the tool could not be called: " + err.Error(), failure: failureOf(err)}
	}
	s.log.Info("a tool was called", append(about, "bytes", len(result.Text))...)
	if result.IsError {
		content := json.RawMessage(bytes.ToValidUTF8(result.Content, []byte("\uFFFD")))
		if len(content) == 0 {
			return &toolResult{text: result.Text, failure: toolError(result.Text)}
		}
		return &toolResult{text: result.Text, failure: map[string]any{"type": "mcp_tool_execution_error",
			"content": content}}
	}
	return &toolResult{text: result.Text}
}

// offers reports whether the tool of a call is one that its server and the operator offer, and that gpt-oss knows.
func (s *snapshot) offers(c *toolCall) bool {
	if c.server != nil {
		return c.tool != nil
	}
	allowed := s.Tools.Server(c.label).AllowedTools
	return slices.Contains(builtinTools[c.namespace], c.name) && (len(allowed) == 0 || slices.Contains(allowed, c.name))
}

// logged returns what is logged of the error of a call. A server's own words may repeat the arguments.
func logged(err error) string {
	var protocol *toolserver.ProtocolError
	if errors.As(err, &protocol) {
		return fmt.Sprintf("the server answered with an error, or not by the protocol; the code is %d", protocol.Code)
	}
	return err.Error()
}

// toolError is the error of an item for a tool that says itself what was wrong.
func toolError(text string) any {
	return map[string]any{"type": "mcp_tool_execution_error", "content": []any{map[string]string{"type": "text",
		"text": text}}}
}

// The outcomes of calls, in metrics and logs.
const (
	outcomeCompleted = "completed"
	// outcomeError is a result that the tool calls an error. outcomeFailed means that there was none.
	outcomeError   = "error"
	outcomeFailed  = "failed"
	outcomeTimeout = "timeout"
)

func outcomeOf(result *toolserver.Result, err error) string {
	var wrong *toolserver.ArgumentsError
	switch {
	case errors.As(err, &wrong):
		return outcomeError
	case errors.Is(err, context.DeadlineExceeded):
		return outcomeTimeout
	case err != nil:
		return outcomeFailed
	case result.IsError:
		return outcomeError
	}
	return outcomeCompleted
}

// The codes of JSON-RPC for what is no answer of a server's: its own and the common one for a request that took too
// long.
const (
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeRequestTimeout = -32001
)

// failureOf returns the error of an item for a call without a result.
func failureOf(err error) any {
	var http *toolserver.HTTPError
	var protocol *toolserver.ProtocolError
	switch {
	case errors.As(err, &http):
		return map[string]any{"type": "http_error", "code": http.Status, "message": err.Error()}
	case errors.As(err, &protocol):
		return protocolError(protocol.Code, protocol.Message)
	case errors.Is(err, context.DeadlineExceeded):
		return protocolError(codeRequestTimeout, "The tool did not answer in time.")
	}
	return protocolError(codeInternal, err.Error())
}

func protocolError(code int64, message string) any {
	return map[string]any{"type": "mcp_protocol_error", "code": code, "message": message}
}
