package responses

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// within returns a limit of what is read from the store for a request: it may not be larger than a request's body, and
// there must be memory for it.
func (c *caller) within() store.Limit {
	atMost := store.AtMost(c.settings.BodyLimit)
	return func(bytes int64) error {
		if err := atMost(bytes); err != nil {
			return err
		}
		return c.share.Take(bytes)
	}
}

// payFor takes the memory for the values of a body, before anything of it is decoded.
func payFor(s *quota.Share, body []byte) *openai.Error {
	bytes, failure := items.Weigh(body)
	if failure == nil && s.Hold(bytes) != nil {
		failure = refusal.Overloaded("no memory for another request now")
	}
	return failure
}
