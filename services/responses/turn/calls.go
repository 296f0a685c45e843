package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// perform runs calls and shows them, in their order.
func (t *Turn) perform(ctx context.Context, calls []*hosted.Call, emit func(*upstream.Event) error) error {
	if len(calls) == 0 {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, t.deadline)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	t.calls += int64(len(calls))
	t.makeRoom(calls)
	runner := &runner{env: t.env, settings: t.settings, response: t.ID, round: t.rounds, tenant: t.tenant(),
		client: t.browser().chain, hosted: t.hosted, finder: &t.finder}
	slots := make(chan struct{}, t.parallel())
	// Results that wait until those before them have been shown have not paid for their memory.
	unshown, left := make(chan struct{}, max(maxUnshown, cap(slots))), make(chan struct{})
	defer close(left)
	for _, c := range calls {
		c.Done = make(chan struct{})
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
			if c.Namespace != "" {
				stateful = c.Done
			}
			running.Go(func() {
				defer func() { <-slots }()
				defer close(c.Done)
				if c.Namespace != "" && before != nil {
					<-before
				}
				c.Result = runner.runSafely(ctx, c)
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
func (t *Turn) parallel() int {
	if !t.hosted.Parallel {
		return 1
	}
	return t.settings.Tools.Parallel
}

// runner runs calls of one round.
type runner struct {
	env      *Env
	settings *settings.Snapshot
	// response is the id of the response, and round the number of the round.
	response string
	round    int
	// tenant keeps the sessions of tenants apart, and client is the id by which gpt-oss's own tools know the chain.
	tenant, client string
	// hosted are the tools of the request, and finder searches them.
	hosted *hosted.Tools
	finder *finder
}

// runSafely is run, but for a fault, which costs its own call only.
func (r *runner) runSafely(ctx context.Context, c *hosted.Call) (result *hosted.Result) {
	defer func() {
		if fault := recover(); fault != nil {
			r.env.Log.Error("a tool was not called", "response", r.response, "reason", fault, "stack", string(debug.Stack()))
			const text = "Error: the tool could not be called."
			result = &hosted.Result{Text: text, Failure: protocolError(codeInternal, text)}
		}
	}()
	return r.run(ctx, c)
}

// run runs a call. A failure is a result too, which the model sees.
func (r *runner) run(ctx context.Context, c *hosted.Call) *hosted.Result {
	if c.Search {
		return r.search(ctx, c)
	}
	if c.Denied {
		return &hosted.Result{Text: hosted.TextOfDenied, Failure: toolError(hosted.TextOfDenied)}
	}
	if !r.settings.Operator.Offers(c) {
		return &hosted.Result{Text: "Error: there is no tool of this name.",
			Failure: protocolError(codeInvalidParams, "The server has no tool "+refusal.Quote(c.Name)+".")}
	}
	limited, cancel := context.WithTimeout(ctx, r.settings.Tools.CallTime)
	defer cancel()
	limited, span := r.span(limited, c)
	defer span.End() // also after a fault
	began := time.Now()
	call := &toolserver.Call{Name: c.Name, Arguments: json.RawMessage(c.Sent)}
	if c.Namespace != "" {
		call.ClientID = r.client
	}
	result, err := r.env.Tools.Call(limited, c.To, r.tenant, call)
	took := time.Since(began)
	outcome := outcomeOf(result, err)
	r.env.Metrics.CalledTool(c.Label, outcome, took)
	endTool(span, outcome)
	about := []any{"response", r.response, "round", r.round, "server", c.Label, "tool", openai.Clip(c.Name,
		refusal.MaxLogged),
		"outcome", outcome, "duration", took}
	var wrong *toolserver.ArgumentsError
	switch {
	case errors.As(err, &wrong):
		r.env.Log.Info("a tool was called", about...)
		text := "Error: " + err.Error()
		return &hosted.Result{Text: text, Failure: toolError(text)}
	case err != nil:
		if errors.Is(ctx.Err(), context.Canceled) {
			r.env.Log.Info("a call of a tool was given up", about...)
		} else {
			r.env.Log.Warn("a tool could not be called", append(about, "error", logged(err))...)
		}
		return &hosted.Result{Text: "Error: the tool could not be called: " + err.Error(), Failure: failureOf(err)}
	}
	r.env.Log.Info("a tool was called", append(about, "bytes", len(result.Text))...)
	if result.IsError {
		content := json.RawMessage(bytes.ToValidUTF8(result.Content, []byte("\uFFFD")))
		if len(content) == 0 {
			return &hosted.Result{Text: result.Text, Failure: toolError(result.Text)}
		}
		return &hosted.Result{Text: result.Text, Failure: map[string]any{"type": "mcp_tool_execution_error",
			"content": content}}
	}
	return &hosted.Result{Text: result.Text}
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
