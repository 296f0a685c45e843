package items

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// Sealer seals what clients carry for the service, and opens it.
type Sealer struct {
	// Keys are nil if nothing is sealed.
	Keys     *seal.Keys
	Lifetime time.Duration
	Now      func() time.Time
	Log      *slog.Logger
}

// ForClient returns the item as its client gets it. include lists the additions that the client asked for.
func (s *Sealer) ForClient(item *store.Item, bound *seal.Bound, include []string) json.RawMessage {
	plain := *item
	var ids string
	plain.Body, ids = TakeSampled(item.Body)
	return s.sampledForClient(s.forClient(&plain, bound, include), ids, bound, include)
}

// forClient is [Sealer.ForClient] for an item without ids.
func (s *Sealer) forClient(item *store.Item, bound *seal.Bound, include []string) json.RawMessage {
	switch {
	case item.Type == TypeReasoning:
		return s.reasoningForClient(item, bound, slices.Contains(include, IncludeSealed))
	case item.Type == TypeCompaction:
		return s.compactionForClient(item, bound)
	case item.Type == TypeMessage && !slices.Contains(include, IncludeLogprobs):
		return withoutLogprobs(WithoutHidden(item.Body, include))
	}
	return WithoutHidden(item.Body, include)
}

func (s *Sealer) reasoningForClient(item *store.Item, bound *seal.Bound, sealed bool) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(item.Body, &fields) != nil {
		return item.Body
	}
	text, hidden := "", fields[HiddenText]
	if hidden == nil || json.Unmarshal(hidden, &text) != nil {
		text = reasoningText(fields)
	}
	delete(fields, HiddenText)
	if sealed && s.Keys != nil && bound.Model != "" {
		b, err := s.Keys.Seal(nil, []byte(text), *bound, s.Now().Add(s.Lifetime).Unix())
		if err == nil {
			fields["encrypted_content"] = JSON(string(b))
		}
	}
	return JSON(fields)
}

// Unseal opens the text of reasoning that a client has carried. It is stored under the store's own key, so that it
// outlives the key that sealed it. A sealed text that does not open is dropped where there is another, and stays as it
// is where another service has sealed it: the gateway leaves it out of the prompt and counts it.
func (s *Sealer) Unseal(at string, fields map[string]json.RawMessage, bound *seal.Bound) *openai.Error {
	sealed := ""
	if json.Unmarshal(OrNull(fields["encrypted_content"]), &sealed) != nil || sealed == "" || s.Keys == nil ||
		bound.Model == "" {
		return nil
	}
	text, form, err := s.Keys.OpenAny([]byte(sealed), *bound, s.Now().Unix()) // in memory of its own
	switch {
	case err != nil:
	case form == seal.Message:
		text, err = textOfIDs(text)
	case form != seal.Text:
		err = seal.ErrForeign
	}
	switch {
	case err == nil:
	case reasoningText(fields) != "" || textIn(fields["summary"]) != "":
		delete(fields, "encrypted_content")
		return nil
	case !seal.Ours([]byte(sealed)):
		return nil
	default:
		return openai.InvalidEncryptedContent(at+".encrypted_content",
			"The encrypted content of '"+at+"' cannot be opened: "+
				err.Error()+". Send the conversation again without this item.")
	}
	delete(fields, "encrypted_content")
	if shown := reasoningText(fields); shown != string(text) {
		fields[HiddenText] = JSON(string(text))
		fields["content"] = json.RawMessage("[]")
	}
	return nil
}

// reasoningText returns the text of an item of reasoning that its client sees.
func reasoningText(fields map[string]json.RawMessage) string { return textIn(fields["content"]) }

// textIn returns the text of a list of parts.
func textIn(list json.RawMessage) string {
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(OrNull(list), &parts)
	var b strings.Builder
	for i := range parts {
		b.WriteString(parts[i].Text)
	}
	return b.String()
}

// clearPrefix begins the content of a compaction that is not sealed, because there are no keys. It holds only what its
// client knows.
const clearPrefix = "clear."

// NewCompaction returns an item as its client gets it.
func (s *Sealer) NewCompaction(payload string, bound *seal.Bound) json.RawMessage {
	return s.compactionForClient(&store.Item{Body: JSON(map[string]string{
		"type": TypeCompaction, "id": NewID(Prefixes[TypeCompaction]), HiddenText: payload})}, bound)
}

func (s *Sealer) compactionForClient(item *store.Item, bound *seal.Bound) json.RawMessage {
	var fields map[string]json.RawMessage
	payload := ""
	if json.Unmarshal(item.Body, &fields) != nil || fields[HiddenText] == nil ||
		json.Unmarshal(fields[HiddenText], &payload) != nil {
		return item.Body // one that was not opened is the client's own
	}
	delete(fields, HiddenText)
	sealed := []byte(clearPrefix + base64.RawURLEncoding.EncodeToString([]byte(payload)))
	if s.Keys != nil {
		b, err := s.Keys.Seal(nil, []byte(payload), compactionBound(bound), s.Now().Add(s.Lifetime).Unix())
		if err != nil {
			s.Log.Error("a compaction was not sealed", "error", err)
		}
		sealed = b
	}
	fields["encrypted_content"] = JSON(string(sealed))
	return JSON(fields)
}

// OpenCompaction opens what an item stands for. It is stored under the store's own key. What does not open stays as it
// is: the gateway tells the model that something is missing, and counts it (RATIONALE.md#40).
func (s *Sealer) OpenCompaction(at string, fields map[string]json.RawMessage, bound *seal.Bound) *openai.Error {
	sealed := ""
	if json.Unmarshal(OrNull(fields["encrypted_content"]), &sealed) != nil {
		return refusal.WrongType(at+".encrypted_content", "a string")
	}
	payload, err := s.openPayload(sealed, bound)
	if err == nil {
		err = json.Unmarshal(payload, &Compaction{})
	}
	if err != nil {
		s.Log.Debug("a compaction was not opened", "item", at, "reason", err)
		return nil
	}
	delete(fields, "encrypted_content")
	fields[HiddenText] = JSON(string(payload))
	return nil
}

func (s *Sealer) openPayload(sealed string, bound *seal.Bound) ([]byte, error) {
	if text, isClear := strings.CutPrefix(sealed, clearPrefix); isClear {
		return base64.RawURLEncoding.DecodeString(text)
	}
	if s.Keys == nil {
		return nil, errors.New("this gateway has no keys")
	}
	return s.Keys.Open([]byte(sealed), compactionBound(bound), s.Now().Unix())
}

// compactionBound is what compactions are bound to. Any model can read them.
func compactionBound(b *seal.Bound) seal.Bound {
	return seal.Bound{Model: TypeCompaction, Tenant: b.Tenant}
}
