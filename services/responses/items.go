package responses

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// The types of items that the service looks into.
const (
	typeMessage   = "message"
	typeReasoning = "reasoning"
	typeReference = "item_reference"
	// typeCompaction is an item that stands for others, and typeTrigger one that asks for it.
	typeCompaction = "compaction"
	typeTrigger    = "compaction_trigger"
)

// hiddenText is the member of a stored item whose text its client may not see: reasoning, or a compacted conversation.
// It is no member of the API.
const hiddenText = hiddenPrefix + "text"

// hiddenPrefix begins the names of members that only the service sees.
const hiddenPrefix = "harmony_"

// idPrefixes begin the ids of items, by type.
var idPrefixes = map[string]string{
	typeMessage:               "msg",
	typeReasoning:             "rs",
	typeCompaction:            "cmp",
	"function_call":           "fc",
	"function_call_output":    "fco",
	"custom_tool_call":        "ctc",
	"custom_tool_call_output": "ctco",
	"local_shell_call":        "lsh",
	"local_shell_call_output": "lsho",
	"shell_call":              "sh",
	"shell_call_output":       "sho",
	"apply_patch_call":        "apc",
	"apply_patch_call_output": "apco",
	typeListTools:             "mcpl",
	typeMCPCall:               "mcp",
	typeApprovalRequest:       "mcpr",
	typeApprovalResponse:      "mcpa",
	typeSearchCall:            "ws",
	typeCodeCall:              "ci",
}

// newID returns an id that nobody can guess.
func newID(prefix string) string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // it never fails
	return prefix + "_" + hex.EncodeToString(b[:])
}

// itemReader turns items of a request into items that are stored.
type itemReader struct {
	service  *Service
	settings *snapshot
	tenant   store.Tenant
	// bound is what sealed texts are bound to. Without a model, reasoning is not opened.
	bound *seal.Bound
	// share pays for the items that are referred to. total is the size of those and of the items before, and references
	// how many there are.
	share      *share
	total      int64
	references int
	// seen are the ids of the items before, so that each item of a list has its own.
	seen map[string]bool
	// questions are questions for approval that have been stored, by id. approvals are the answers to them.
	questions map[string]*store.Item
	approvals []approval
}

// newItemReader returns a reader of items that follow others.
func (s *Service) newItemReader(c *caller, bound *seal.Bound, past []store.Item) *itemReader {
	r := &itemReader{service: s, settings: c.settings, tenant: c.tenant, share: c.share, bound: bound,
		seen: make(map[string]bool, len(past)), questions: map[string]*store.Item{}}
	for i := range past {
		r.seen[past[i].ID] = true
		r.total += int64(len(past[i].Body))
		if past[i].Type == typeApprovalRequest {
			r.questions[past[i].ID] = &past[i]
		}
	}
	return r
}

// read reads the items of a list. param is the list's place in the request.
func (r *itemReader) read(ctx context.Context, param string, list []json.RawMessage) ([]store.Item, *openai.Error) {
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

func (r *itemReader) readOne(ctx context.Context, at string, raw json.RawMessage) (store.Item, *openai.Error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return store.Item{}, wrongType(at, "an object")
	}
	var kind, id string
	if json.Unmarshal(orNull(fields["type"]), &kind) != nil {
		return store.Item{}, wrongType(at+".type", "a string")
	}
	if json.Unmarshal(orNull(fields["id"]), &id) != nil {
		return store.Item{}, wrongType(at+".id", "a string")
	}
	if !storable(kind) {
		return store.Item{}, badRequest(contract.CodeInvalidValue, at+".type", "Invalid '"+at+".type': unknown type.")
	}
	for _, name := range []string{hiddenText, hiddenItems, hiddenClient} { // no client may write them
		delete(fields, name)
	}
	_, hasRole := fields["role"]
	switch {
	case kind == "" && hasRole:
		kind = typeMessage
	case kind == typeReference, kind == "" && id != "":
		return r.referred(ctx, at, id)
	case kind == typeReasoning:
		if failure := r.unseal(at, fields); failure != nil {
			return store.Item{}, failure
		}
	case kind == typeCompaction:
		if failure := r.openCompaction(at, fields); failure != nil {
			return store.Item{}, failure
		}
	case kind == typeSearchCall, kind == typeCodeCall,
		kind == typeMCPCall && string(fields["server_label"]) == `"`+containerNamespace+`"`:
		if item, found, failure := r.known(ctx, at, id, kind); found || failure != nil {
			return item, failure
		}
	case kind == typeApprovalRequest:
		return r.readQuestion(ctx, at, id, fields)
	case kind == typeApprovalResponse:
		if failure := r.readAnswer(ctx, at, fields); failure != nil {
			return store.Item{}, failure
		}
	case kind == typeTrigger:
		return store.Item{}, badRequest(contract.CodeInvalidValue, at, "Invalid '"+at+"': a '"+typeTrigger+"' is the last item "+
			"of a request for a response.")
	}
	if id == "" || !storable(id) || r.seen[id] {
		prefix, known := idPrefixes[kind]
		if !known {
			prefix = "item"
		}
		id = newID(prefix)
	}
	r.seen[id] = true
	fields["type"], fields["id"] = mustMarshal(kind), mustMarshal(id)
	complete(kind, fields)
	return store.Item{ID: id, Type: kind, Body: mustMarshal(fields)}, nil
}

// storable reports whether a client's id or type is stored as it is. Databases have no text with a byte 0.
func storable(text string) bool {
	return len(text) <= maxQuoted && !strings.ContainsFunc(text, unicode.IsControl)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// maxReferences is how many references to stored items a request may have. Each is a query.
const maxReferences = 1000

// pay takes memory for an item that is referred to, before it is read. All of a request are held to the limit of a
// conversation.
func (r *itemReader) pay(size int64) error {
	if r.total += size; r.total > r.settings.BodyLimit {
		return r.tooLarge()
	}
	return r.share.take(size)
}

func (r *itemReader) tooLarge() error {
	return &store.TooLargeError{Bytes: r.total, Limit: r.settings.BodyLimit}
}

// referred returns the stored item that an item refers to.
func (r *itemReader) referred(ctx context.Context, at, id string) (store.Item, *openai.Error) {
	missing := badRequest(contract.CodeInvalidValue, at, "Item with id "+quote(id)+" not found. Items are not persisted when "+
		"`store` is set to false. Try again with `store` set to true, or remove this item from your input.")
	st, failure := r.service.stored()
	if failure != nil {
		return store.Item{}, failure
	}
	if r.references++; r.references > maxReferences {
		return store.Item{}, badRequest(contract.CodeInvalidValue, at, fmt.Sprintf("Invalid '%s': more than %d references. "+
			"Send the items themselves.", at, maxReferences))
	}
	item, err := st.Item(ctx, r.tenant, id, r.pay)
	if err != nil {
		return store.Item{}, r.service.failure(err, at, missing)
	}
	r.seen[id] = true
	return item, nil
}

// known returns the stored item that a client has sent back, if it has more than the client sees: the result of a call of
// one of gpt-oss's own tools.
func (r *itemReader) known(ctx context.Context, at, id, kind string) (item store.Item, found bool, failure *openai.Error) {
	st, unavailable := r.service.stored()
	if unavailable != nil || r.seen[id] || !strings.HasPrefix(id, idPrefixes[kind]+"_") || !storable(id) ||
		r.references >= maxReferences {
		return item, false, nil
	}
	r.references++
	item, err := st.Item(ctx, r.tenant, id, r.share.take)
	if errors.Is(err, errNoMemory) {
		return item, false, r.service.failure(err, at, nil)
	}
	size := int64(len(item.Body))
	if err != nil || item.Type != kind || !bytes.Contains(item.Body, []byte(`"`+hiddenItems+`"`)) {
		r.share.give(size)
		return item, false, nil
	}
	if r.total += size; r.total > r.settings.BodyLimit {
		return item, false, r.service.failure(r.tooLarge(), at, nil)
	}
	r.seen[id] = true
	return item, true, nil
}

// unseal opens the text of reasoning that a client has carried. It is stored under the store's own key, so that it
// outlives the key that sealed it.
func (r *itemReader) unseal(at string, fields map[string]json.RawMessage) *openai.Error {
	sealed := ""
	if json.Unmarshal(orNull(fields["encrypted_content"]), &sealed) != nil || sealed == "" || r.settings.sealer.keys == nil ||
		r.bound.Model == "" {
		return nil
	}
	text, err := r.settings.sealer.keys.Open([]byte(sealed), *r.bound, r.settings.sealer.now().Unix())
	if err != nil {
		return openai.InvalidEncryptedContent(at+".encrypted_content", "The encrypted content of '"+at+"' cannot be opened: "+
			err.Error()+". Send the conversation again without this item.")
	}
	delete(fields, "encrypted_content")
	if shown := reasoningText(fields); shown != string(text) {
		fields[hiddenText] = mustMarshal(string(text))
		fields["content"] = json.RawMessage("[]")
	}
	return nil
}

// reasoningText returns the text of an item of reasoning that its client sees.
func reasoningText(fields map[string]json.RawMessage) string {
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(orNull(fields["content"]), &parts)
	var b strings.Builder
	for i := range parts {
		b.WriteString(parts[i].Text)
	}
	return b.String()
}

// complete adds the members that an item has when the API returns it.
func complete(kind string, fields map[string]json.RawMessage) {
	if hasStatus(kind) && isMissing(fields, "status") {
		fields["status"] = json.RawMessage(`"completed"`)
	}
	switch kind {
	case typeReasoning:
		if isMissing(fields, "summary") {
			fields["summary"] = json.RawMessage("[]")
		}
	case typeMessage:
		content := bytes.TrimSpace(fields["content"])
		if len(content) == 0 || content[0] != '"' {
			return
		}
		role := ""
		_ = json.Unmarshal(orNull(fields["role"]), &role)
		before, after := `[{"text":`, `,"type":"input_text"}]`
		if role == "assistant" {
			before, after = `[{"annotations":[],"logprobs":[],"text":`, `,"type":"output_text"}]`
		}
		fields["content"] = slices.Concat([]byte(before), content, []byte(after))
	}
}

// hasStatus reports whether items of a type have a status.
func hasStatus(kind string) bool {
	switch kind {
	case typeReasoning, typeCompaction, typeListTools, typeApprovalRequest, typeApprovalResponse:
		return false
	}
	return true
}

// isCommentary reports whether an item is what a model says before a call.
func isCommentary(item *store.Item) bool {
	var fields struct{ Role, Phase string }
	return item.Type == typeMessage && json.Unmarshal(item.Body, &fields) == nil && fields.Role == "assistant" &&
		fields.Phase == openai.PhaseCommentary
}

func isMissing(fields map[string]json.RawMessage, name string) bool {
	return !given(fields[name])
}
