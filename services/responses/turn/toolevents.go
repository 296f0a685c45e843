package turn

import (
	"context"
	"errors"

	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// showLists shows the tools of servers that the client has not seen yet.
func (t *Turn) showLists(emit func(*upstream.Event) error) error {
	if t.hosted == nil {
		return nil
	}
	for _, m := range t.hosted.Servers {
		if m.Item == nil {
			continue
		}
		id := items.Of(m.Item).ID
		empty := items.JSON(map[string]any{"id": id, "type": items.TypeListTools, "server_label": m.Label,
			"tools": []string{}})
		err := t.during(empty, m.Item, emit, func(index int) error {
			return t.sendEach(emit, index, id, "response.mcp_list_tools.in_progress", "response.mcp_list_tools.completed")
		})
		if err != nil {
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
	items.TypeMCPCall: {before: []string{"response.mcp_call.in_progress"},
		delta: "response.mcp_call_arguments.delta", done: "response.mcp_call_arguments.done", argument: "arguments",
		completed: "response.mcp_call.completed", failed: []string{"response.mcp_call.failed"}},
	items.TypeSearchCall: {before: []string{"response.web_search_call.in_progress", "response.web_search_call.searching"},
		completed: "response.web_search_call.completed"},
	items.TypeCodeCall: {before: []string{"response.code_interpreter_call.in_progress"},
		delta: "response.code_interpreter_call_code.delta", done: "response.code_interpreter_call_code.done",
		argument:  "code",
		after:     []string{"response.code_interpreter_call.interpreting"},
		completed: "response.code_interpreter_call.completed"},
}

// showCall shows a call while it runs.
func (t *Turn) showCall(ctx context.Context, c *hosted.Call, emit func(*upstream.Event) error) error {
	p := progressOf[c.ItemType()]
	index := t.index
	t.index++
	send := func(kinds ...string) error { return t.sendEach(emit, index, c.ID, kinds...) }
	item := map[string]any{"output_index": index, "item": t.shown(t.item(c, store.InProgress))}
	if err := t.sendEvent(emit, "response.output_item.added", item); err != nil {
		return err
	}
	if err := send(p.before...); err != nil {
		return err
	}
	if p.delta != "" {
		about := func() map[string]any { return map[string]any{"output_index": index, "item_id": c.ID} }
		delta, done := about(), about()
		delta["delta"], done[p.argument] = c.Written, c.Written
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
	<-c.Done                                                // soon, if ctx has ended
	if err := ctx.Err(); errors.Is(err, context.Canceled) { // a deadline of the tools' is no end of the response
		return err
	}
	if err := t.share.Take(int64(len(c.Result.Text) + len(c.Written))); err != nil {
		return err
	}
	ended, status := []string{p.completed}, items.Completed
	switch {
	case c.Result.Cut:
		ended, status = nil, items.Incomplete
	case c.Result.Failure != nil:
		ended, status = p.failed, items.Failed
	}
	if status == items.Incomplete && c.ItemType() == items.TypeSearchCall { // the API knows no such search
		status = items.Failed
	}
	if c.Search { // its two items are its only events, and the API knows none that has failed
		ended = nil
		if status == items.Failed {
			status = items.Incomplete
		}
	}
	if err := send(ended...); err != nil {
		return err
	}
	if err := t.finishItem(index, t.item(c, status), emit); err != nil || !c.Search {
		return err
	}
	return t.showFound(c, status, emit)
}

// showCut shows calls that were not run, because the answer ended too early.
func (t *Turn) showCut(ctx context.Context, calls []*hosted.Call, emit func(*upstream.Event) error) error {
	for _, c := range calls {
		c.Result, c.Done = &hosted.Result{Text: items.TextOfCut, Cut: true}, make(chan struct{})
		close(c.Done)
		if err := t.showCall(ctx, c, emit); err != nil {
			return err
		}
	}
	return nil
}
