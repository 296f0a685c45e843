package turn

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/hosted"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// This file has what a writer of another API's answers needs of a turn.

// Unveil makes events have what only the service sees of items. They are for a writer, and for no client.
func (t *Turn) Unveil() { t.unveiled = true }

// Hosted returns the tools that the service runs, or nil.
func (t *Turn) Hosted() *hosted.Tools { return t.hosted }

// RanTools reports whether calls of tools were run.
func (t *Turn) RanTools() bool { return t.calls > 0 }

// Failure returns why a turn has failed, or nil if it has not.
func (t *Turn) Failure(end *Outcome) *openai.Error {
	switch {
	case end.Status != items.Failed:
		return nil
	case end.refusal != nil:
		return end.refusal
	}
	return upstream.FailedError(end.object)
}
