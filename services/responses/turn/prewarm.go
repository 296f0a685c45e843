package turn

import (
	"context"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// Prewarm makes a response without output, which the client continues. The gateway checks the request and counts its
// tokens. No model is asked.
func (t *Turn) Prewarm(ctx context.Context, send func(*upstream.Event) error,
	save func(*Outcome) *openai.Error) *openai.Error {
	t.hosted.Gather(t.past, t.input) // no server is asked for its tools
	response, failure := t.check(ctx)
	if failure != nil {
		return failure
	}
	response.Status = store.InProgress
	usage := response.Usage
	response.Usage = nil
	t.last = t.object(response)
	if err := t.open(t.last, send); err != nil {
		return nil // the connection has ended
	}
	response.Status, response.CompletedAt, response.Usage = items.Completed, t.env.Now().Unix(), usage
	t.finish(ctx, t.end("response.completed", items.Completed, t.object(response)), send, save)
	return nil
}

// check checks the request, and returns the response with the number of its tokens.
func (t *Turn) check(ctx context.Context) (*openai.Response, *openai.Error) {
	sealing, sampling := t.sealing, t.sampling
	t.sealing, t.sampling = false, false
	defer func() { t.sealing, t.sampling = sealing, sampling }()
	if len(t.past)+len(t.input) == 0 {
		// A client may only want its instructions and tools to be known. Every other request needs an item.
		t.input = []store.Item{{Type: items.TypeMessage, Body: []byte(`{"type":"message","role":"user","content":""}`)}}
		defer func() { t.input = nil }()
	}
	var count struct {
		Tokens int `json:"input_tokens"`
	}
	if failure := t.postFor(ctx, contract.InputTokensPath, t.body(), &count); failure != nil {
		return nil, failure
	}
	response, failure := t.describe()
	if failure == nil {
		response.Usage = &openai.Usage{PromptTokens: count.Tokens}
	}
	return response, failure
}
