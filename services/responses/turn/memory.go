package turn

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
)

// PayFor takes the memory for the values of a body, before anything of it is decoded.
func (c *Caller) PayFor(body []byte) *openai.Error {
	bytes, failure := items.Weigh(body)
	if failure == nil && c.Share.Hold(bytes) != nil {
		failure = refusal.Overloaded("no memory for another request now")
	}
	return failure
}
