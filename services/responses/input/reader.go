package input

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// Reader turns items of a request into items that are stored.
type Reader struct {
	source   *Source
	settings *settings.Snapshot
	tenant   store.Tenant
	// bound is what sealed texts are bound to. Without a model, reasoning is not opened.
	bound *seal.Bound
	// share pays for the items that are referred to. total is the size of those and of the items before, and references
	// how many there are.
	share      *quota.Share
	total      int64
	references int
	// seen are the ids of the items before, so that each item of a list has its own.
	seen map[string]bool
	// questions are questions for approval that have been stored, by id. approvals are the answers to them.
	questions map[string]*store.Item
	Approvals []Approval
}

// NewReader returns a reader of items that follow others.
func NewReader(from *Source, c *Caller, bound *seal.Bound, past []store.Item) *Reader {
	r := &Reader{source: from, settings: c.Settings, tenant: c.Tenant, share: c.Share, bound: bound,
		seen: make(map[string]bool, len(past)), questions: map[string]*store.Item{}}
	for i := range past {
		r.seen[past[i].ID] = true
		r.total += items.TextSize(&past[i])
		if past[i].Type == items.TypeApprovalRequest {
			r.questions[past[i].ID] = &past[i]
		}
	}
	return r
}

// Read reads the items of a list. param is the list's place in the request.
func (r *Reader) Read(ctx context.Context, param string, list []json.RawMessage) ([]store.Item, *openai.Error) {
	items := make([]store.Item, 0, len(list))
	for i, raw := range list {
		item, failure := r.readOne(ctx, fmt.Sprintf("%s[%d]", param, i), raw)
		if failure != nil {
			return nil, failure
		}
		items = append(items, item)
	}
	r.dropSettled(items)
	return items, nil
}

func (r *Reader) readOne(ctx context.Context, at string, raw json.RawMessage) (store.Item, *openai.Error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return store.Item{}, refusal.WrongType(at, "an object")
	}
	var kind, id string
	if json.Unmarshal(items.OrNull(fields["type"]), &kind) != nil {
		return store.Item{}, refusal.WrongType(at+".type", "a string")
	}
	if json.Unmarshal(items.OrNull(fields["id"]), &id) != nil {
		return store.Item{}, refusal.WrongType(at+".id", "a string")
	}
	if !items.Storable(kind) {
		return store.Item{}, refusal.Bad(contract.CodeInvalidValue, at+".type", "Invalid '"+at+".type': unknown type.")
	}
	for _, name := range []string{items.HiddenText, items.HiddenItems, items.HiddenClient, items.HiddenSampled} {
		delete(fields, name) // no client may write them
	}
	r.settings.Sealer.TakeIDs(fields, r.bound)
	_, hasRole := fields["role"]
	switch {
	case kind == "" && hasRole:
		kind = items.TypeMessage
	case kind == items.TypeReference, kind == "" && id != "":
		return r.referred(ctx, at, id)
	case kind == items.TypeReasoning:
		if failure := r.settings.Sealer.Unseal(at, fields, r.bound); failure != nil {
			return store.Item{}, failure
		}
	case kind == items.TypeCompaction:
		if failure := r.settings.Sealer.OpenCompaction(at, fields, r.bound); failure != nil {
			return store.Item{}, failure
		}
	case kind == items.TypeSearchCall, kind == items.TypeCodeCall,
		kind == items.TypeMCPCall && string(fields["server_label"]) == `"`+items.ContainerNamespace+`"`:
		if item, found, failure := r.known(ctx, at, id, kind); found || failure != nil {
			return item, failure
		}
	case kind == items.TypeApprovalRequest:
		return r.readQuestion(ctx, at, id, fields)
	case kind == items.TypeApprovalResponse:
		if failure := r.readAnswer(ctx, at, fields); failure != nil {
			return store.Item{}, failure
		}
	case kind == items.TypeTrigger:
		return store.Item{}, refusal.Bad(contract.CodeInvalidValue, at,
			"Invalid '"+at+"': a '"+items.TypeTrigger+"' is the last item "+
				"of a request for a response.")
	}
	if id == "" || !items.Storable(id) || r.seen[id] {
		prefix, known := items.Prefixes[kind]
		if !known {
			prefix = "item"
		}
		id = items.NewID(prefix)
	}
	r.seen[id] = true
	fields["type"], fields["id"] = items.JSON(kind), items.JSON(id)
	items.Complete(kind, fields)
	return store.Item{ID: id, Type: kind, Body: items.JSON(fields)}, nil
}

// maxReferences is how many references to stored items a request may have. Each is a query.
const maxReferences = 1000

// pay takes memory for an item that is referred to, before it is read. All of a request are held to the limit of a
// conversation.
func (r *Reader) pay(size int64) error {
	if r.total += size; r.total > r.settings.BodyLimit {
		return r.tooLarge()
	}
	return r.share.Take(size)
}

func (r *Reader) tooLarge() error {
	return &store.TooLargeError{Bytes: r.total, Limit: r.settings.BodyLimit}
}

// referred returns the stored item that an item refers to.
func (r *Reader) referred(ctx context.Context, at, id string) (store.Item, *openai.Error) {
	missing := refusal.Bad(contract.CodeInvalidValue, at,
		"Item with id "+refusal.Quote(id)+" not found. Items are not persisted when "+
			"`store` is set to false. Try again with `store` set to true, or remove this item from your input.")
	st, failure := r.source.Stored()
	if failure != nil {
		return store.Item{}, failure
	}
	if r.references++; r.references > maxReferences {
		return store.Item{}, refusal.Bad(contract.CodeInvalidValue, at,
			fmt.Sprintf("Invalid '%s': more than %d references. "+
				"Send the items themselves.", at, maxReferences))
	}
	item, err := st.Item(ctx, r.tenant, id, r.pay)
	if err != nil {
		return store.Item{}, r.source.failure(err, at, missing)
	}
	r.seen[id] = true
	return item, nil
}

// known returns the stored item that a client has sent back, if it has more than the client sees: the result of a call of
// one of gpt-oss's own tools.
func (r *Reader) known(ctx context.Context, at, id, kind string) (item store.Item, found bool,
	failure *openai.Error) {
	st, unavailable := r.source.Stored()
	if unavailable != nil || r.seen[id] || !strings.HasPrefix(id, items.Prefixes[kind]+"_") || !items.Storable(id) ||
		r.references >= maxReferences {
		return item, false, nil
	}
	r.references++
	item, err := st.Item(ctx, r.tenant, id, r.share.Take)
	if errors.Is(err, quota.ErrNoMemory) {
		return item, false, r.source.failure(err, at, nil)
	}
	size := int64(len(item.Body))
	if err != nil || item.Type != kind || !bytes.Contains(item.Body, []byte(`"`+items.HiddenItems+`"`)) {
		r.share.Give(size)
		return item, false, nil
	}
	if r.total += size; r.total > r.settings.BodyLimit {
		return item, false, r.source.failure(r.tooLarge(), at, nil)
	}
	r.seen[id] = true
	return item, true, nil
}

// Source is where the items are stored that a request refers to.
type Source struct {
	// Stored returns the store, or the error for one that has not answered yet.
	Stored func() (*store.Store, *openai.Error)
	Log    *slog.Logger
}

// failure returns the error that a client gets for an error of the store.
func (s *Source) failure(err error, param string, missing *openai.Error) *openai.Error {
	return refusal.OfStore(s.Log, err, param, missing)
}
