package turn

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// keepIDs makes the turn ask the gateway for the ids with which the model writes its answer, also if its client has
// not: the next prompt begins with them. A gateway that is older than this is asked without.
func (t *Turn) keepIDs() {
	m := t.settings.Model(t.Request.Model)
	t.sampling = m.Name != "" && !contract.TakesConversations(m.Server) && m.History.Calls != contract.HistoryTemplate &&
		t.Request.IncludesRead && !t.env.Gateway.IsOlder(t.env.Now())
}

// includesAsked returns the values of include that the gateway is asked for: the client's, and what the service needs.
func (t *Turn) includesAsked() []string {
	includes := slices.Clip(t.Request.Includes)
	if t.sealing {
		includes = append(includes, items.IncludeSealed)
	}
	if t.sampling && !slices.Contains(includes, items.IncludeSampled) {
		includes = append(includes, items.IncludeSampled)
	}
	return includes
}

// isOlder reports whether a gateway has refused a request because it does not know the ids that only the service wants.
// The service does not ask it for them again for a while.
func (t *Turn) isOlder(failure *openai.Error) bool {
	at := len(t.includesAsked()) - 1
	if !t.sampling || slices.Contains(t.Request.Includes, items.IncludeSampled) ||
		failure.Status != http.StatusBadRequest || failure.Param != "include["+strconv.Itoa(at)+"]" {
		return false
	}
	t.env.Log.Warn("the gateway is older than this service, and does not give the ids that models sample",
		"response", t.ID)
	t.env.Gateway.NoteOlder(t.env.Now())
	t.sampling = false
	return true
}

// takeIDs returns a finished item of the gateway's with its ids opened, if the service keeps them.
func (t *Turn) takeIDs(item json.RawMessage) json.RawMessage {
	if !t.sampling {
		return item
	}
	return t.settings.Sealer.OpenSampled(item, t.bound, slices.Contains(t.includes, items.IncludeSampled))
}

// Fits returns an error if what the turn continues is too large without the ids in it. With them it may be larger: the
// body leaves them out then.
func (t *Turn) Fits(past []store.Item) *openai.Error {
	total := int64(0)
	for i := range past {
		total += items.TextSize(&past[i])
	}
	if total <= t.settings.BodyLimit {
		return nil
	}
	param := "previous_response_id"
	if t.Request.Conversation != "" {
		param = "conversation"
	}
	return t.env.failure(&store.TooLargeError{Bytes: total, Limit: t.settings.BodyLimit}, param, nil)
}
