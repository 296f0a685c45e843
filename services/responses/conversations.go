package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// The limits of OpenAI's API.
const (
	maxAddedItems    = 20
	maxMetadataPairs = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
)

// conversationBody is the body of a request about a conversation.
type conversationBody struct {
	Metadata json.RawMessage   `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
}

// readConversation reads a body. It checks that there are not too many items, and the metadata.
func (s *Service) readConversation(w http.ResponseWriter, r *http.Request, c *input.Caller) (*conversationBody,
	*openai.Error) {
	raw, failure := s.body(w, r, c)
	if failure != nil {
		return nil, failure
	}
	if failure := checkCount(raw); failure != nil {
		return nil, failure
	}
	b := &conversationBody{}
	if len(raw) > 0 && json.Unmarshal(raw, b) != nil {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return nil, refusal.Bad(contract.CodeInvalidJSON, "", "The body is not a JSON object.")
		}
		return nil, refusal.WrongType("items", "an array of items")
	}
	if items.Missing(map[string]json.RawMessage{"metadata": b.Metadata}, "metadata") || len(b.Metadata) == 0 {
		b.Metadata = json.RawMessage("{}")
	}
	return b, checkMetadata(b.Metadata)
}

// checkCount checks that a body has not too many items, before any of them is decoded.
func checkCount(body []byte) *openai.Error {
	members := rawjson.Members(body)
	for members.Next() {
		if !bytes.EqualFold(members.Key, []byte("items")) { // as encoding/json reads it
			continue
		}
		n := 0
		each := rawjson.Elements(members.Value)
		for each.Next() {
			n++
		}
		if n > maxAddedItems {
			return refusal.Bad(contract.CodeInvalidValue, "items", fmt.Sprintf(
				"Invalid 'items': %d items. Expected at most %d.", n, maxAddedItems))
		}
	}
	return nil
}

func checkMetadata(raw json.RawMessage) *openai.Error {
	var pairs map[string]string
	if json.Unmarshal(raw, &pairs) != nil {
		return refusal.WrongType("metadata", "an object of strings")
	}
	if len(pairs) > maxMetadataPairs {
		return refusal.Bad(contract.CodeInvalidValue, "metadata", fmt.Sprintf(
			"Invalid 'metadata': too many properties. Expected at most %d.", maxMetadataPairs))
	}
	for key, value := range pairs {
		if utf8.RuneCountInString(key) > maxMetadataKey || utf8.RuneCountInString(value) > maxMetadataValue {
			return refusal.Bad(contract.CodeInvalidValue, "metadata."+openai.Clip(key, refusal.MaxQuoted), fmt.Sprintf(
				"Invalid 'metadata': a key may have %d characters and a value %d.", maxMetadataKey, maxMetadataValue))
		}
	}
	return nil
}

// writeConversation answers with a conversation, or with the error of the store. missing is the error for a record that
// does not exist.
func (s *Service) writeConversation(w http.ResponseWriter, c *store.Conversation, err error,
	missing *openai.Error) *openai.Error {
	if err != nil {
		return s.failure(err, "", missing)
	}
	return writeJSON(w, items.JSON(struct {
		ID        string          `json:"id"`
		Object    string          `json:"object"`
		CreatedAt int64           `json:"created_at"`
		Metadata  json.RawMessage `json:"metadata"`
	}{c.ID, "conversation", c.CreatedAt.Unix(), c.Metadata}))
}

func (s *Service) createConversation(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	body, failure := s.readConversation(w, r, c)
	if failure != nil {
		return failure
	}
	list, failure := s.env.NewReader(c, c.Bound(""), nil).Read(r.Context(), "items", body.Items)
	if failure != nil {
		return failure
	}
	created := &store.Conversation{ID: items.NewID("conv"), CreatedAt: s.now(), Metadata: body.Metadata}
	err := st.CreateConversation(r.Context(), c.Tenant, created, list)
	return s.writeConversation(w, created, err, refusal.StoreAway())
}

func (s *Service) getConversation(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	id := r.PathValue("id")
	found, err := st.GetConversation(r.Context(), c.Tenant, id)
	return s.writeConversation(w, found, err, refusal.NotFound("Conversation", id))
}

func (s *Service) updateConversation(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	id := r.PathValue("id")
	body, failure := s.readConversation(w, r, c)
	if failure != nil {
		return failure
	}
	changed, err := st.SetMetadata(r.Context(), c.Tenant, id, body.Metadata)
	return s.writeConversation(w, changed, err, refusal.NotFound("Conversation", id))
}

func (s *Service) deleteConversation(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	id := r.PathValue("id")
	if err := st.DeleteConversation(r.Context(), c.Tenant, id); err != nil {
		return s.failure(err, "", refusal.NotFound("Conversation", id))
	}
	return writeJSON(w, items.JSON(deleted{id, "conversation.deleted", true}))
}

func (s *Service) listItems(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	id, query := r.PathValue("id"), r.URL.Query()
	p, failure := page(query, c)
	if failure != nil {
		return failure
	}
	list, err := st.ConversationItems(r.Context(), c.Tenant, id, p)
	if err != nil {
		return s.failure(err, "", refusal.NotFound("Conversation", id))
	}
	return s.writeList(w, c, list, c.Bound(""), includes(query))
}

func (s *Service) addItems(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	id := r.PathValue("id")
	body, failure := s.readConversation(w, r, c)
	if failure != nil {
		return failure
	}
	list, failure := s.env.NewReader(c, c.Bound(""), nil).Read(r.Context(), "items", body.Items)
	if failure != nil {
		return failure
	}
	if err := st.AddItems(r.Context(), c.Tenant, id, list); err != nil {
		return s.failure(err, "", refusal.NotFound("Conversation", id))
	}
	return s.writeList(w, c, &store.List{Items: list}, c.Bound(""), includes(r.URL.Query()))
}

func (s *Service) getItem(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	id := r.PathValue("item")
	item, err := st.ConversationItem(r.Context(), c.Tenant, r.PathValue("id"), id, c.Share.Take)
	if err != nil {
		return s.failure(err, "", refusal.NotFound("Item", id))
	}
	return writeStored(w, c, c.Settings.Sealer.ForClient(&item, c.Bound(""), includes(r.URL.Query())))
}

// deleteItem answers with the conversation, as OpenAI's API does.
func (s *Service) deleteItem(w http.ResponseWriter, r *http.Request, c *input.Caller,
	st *store.Store) *openai.Error {
	id := r.PathValue("item")
	changed, err := st.DeleteItem(r.Context(), c.Tenant, r.PathValue("id"), id)
	return s.writeConversation(w, changed, err, refusal.NotFound("Item", id))
}
