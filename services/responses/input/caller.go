package input

import (
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// Caller is who sends a request.
type Caller struct {
	// Settings are the request's.
	Settings    *settings.Snapshot
	Tenant      store.Tenant
	TenantValue string
	// Headers are the request's, with which the gateway is asked.
	Headers http.Header
	// Model is the model that the request names, for the access log.
	Model string
	// Share is the memory that the request has.
	Share *quota.Share
}

// Bound returns what sealed texts of the caller's are bound to. model is empty for a list that has no model.
func (c *Caller) Bound(model string) *seal.Bound {
	return &seal.Bound{Model: model, Tenant: c.TenantValue}
}

// Within returns a limit of what is read from the store for a request: its texts may not be larger than a request's
// body, with the ids of how they are spelled twice that, and there must be memory for it.
func (c *Caller) Within() store.Limit {
	atMost := store.AtMost(2 * c.Settings.BodyLimit)
	return func(bytes int64) error {
		if err := atMost(bytes); err != nil {
			return err
		}
		return c.Share.Take(bytes)
	}
}

// PayFor takes the memory for the values of a body, before anything of it is decoded.
func (c *Caller) PayFor(body []byte) *openai.Error {
	bytes, failure := items.Weigh(body)
	if failure == nil && c.Share.Hold(bytes) != nil {
		failure = refusal.Overloaded("no memory for another request now")
	}
	return failure
}
