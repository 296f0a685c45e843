package turn

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/spans"
	"github.com/harmonyedge/harmonyedge/services/responses/toolsearch"
	"github.com/harmonyedge/harmonyedge/services/responses/toolserver"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// finder runs the searches for tools of a turn. Those of a round run one after the other.
type finder struct {
	mu sync.Mutex
	// index has the tools of the request, once there has been a search.
	index *toolsearch.Index
	// room is how many bytes of tools the gateway still takes.
	room int64
}

// gather finds out which tools can be found, and pays for an index of them.
func (t *Turn) gather() *openai.Error {
	t.hosted.Gather(t.past, t.input)
	size := int64(0)
	for _, text := range t.hosted.Texts() {
		size += text.Size()
	}
	if t.share.Hold(size) != nil {
		return refusal.Overloaded("no memory for the tools of the request now")
	}
	return nil
}

// close forgets the index.
func (f *finder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index != nil {
		f.index.Close()
	}
}

// makeRoom notes how many bytes of tools the gateway still takes, if some of the calls are searches.
func (t *Turn) makeRoom(calls []*hosted.Call) {
	for _, c := range calls {
		if c.Search {
			used := len(items.JSON(t.hosted.Plain()))
			for _, raw := range items.Declared(t.asked()) {
				used += len(raw)
			}
			t.finder.room = int64(openai.MaxTools - used)
			return
		}
	}
}

// find returns the tools that a call asks for.
func (f *finder) find(ctx context.Context, h *hosted.Tools, c *hosted.Call, atMost int64) ([]json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err // it has waited for the others
	}
	if f.index == nil {
		index, err := toolsearch.New(ctx, h.Texts())
		if err != nil {
			return nil, err
		}
		f.index = index
	}
	query, most := c.Question()
	places, err := f.index.Find(ctx, query, most)
	if err != nil {
		f.index.Close() // what lies in memory may be gone with a search that took too long
		f.index = nil
		return nil, err
	}
	tools, size := h.Load(places, atMost, f.room)
	f.room -= size
	return tools, nil
}

// search runs a call of the service's search for tools. The model's words are not logged.
func (r *runner) search(ctx context.Context, c *hosted.Call) *hosted.Result {
	ctx, cancel := context.WithTimeout(ctx, r.settings.Tools.CallTime)
	defer cancel()
	ctx, span := r.env.Spans.Begin(ctx, "execute_tool "+c.Name, trace.SpanKindInternal,
		attribute.String(spans.Operation, "execute_tool"), attribute.String(spans.Tool, c.Name),
		attribute.String(spans.ToolServer, c.Label), attribute.Int(spans.Round, r.round))
	began := time.Now()
	tools, err := r.finder.find(ctx, r.hosted, c, r.settings.Tools.ResultLimit)
	took := time.Since(began)
	outcome := outcomeOf(&toolserver.Result{}, err)
	endTool(span, outcome)
	r.env.Metrics.CalledTool(c.Label, outcome, took)
	about := []any{"response", r.response, "round", r.round, "outcome", outcome, "duration", took}
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			r.env.Log.Warn("tools could not be searched", append(about, "error", err)...)
		}
		return &hosted.Result{Cut: true, Tools: []json.RawMessage{}}
	}
	r.env.Log.Info("tools were searched", append(about, "found", len(tools))...)
	return &hosted.Result{Tools: tools}
}

// showFound shows what a search has found.
func (t *Turn) showFound(c *hosted.Call, status string, emit func(*upstream.Event) error) error {
	tools := c.Result.Tools
	if tools == nil {
		tools = []json.RawMessage{}
	}
	return t.showItem(items.JSON(map[string]any{"id": items.NewID(items.Prefixes[items.TypeSearchOutput]),
		"type": items.TypeSearchOutput, "status": status, "execution": "server", "call_id": nil, "tools": tools}), emit)
}
