package responses

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// content is what an item of the type compaction stands for.
type content struct {
	// Summary is what the model wrote about the items that it replaces.
	Summary string `json:"summary"`
	// Items are the newest ones, which are kept as they are.
	Items []json.RawMessage `json:"items,omitempty"`
}

// compactionBound is what compactions are bound to. Any model can read them.
func compactionBound(b *seal.Bound) seal.Bound {
	return seal.Bound{Model: typeCompaction, Tenant: b.Tenant}
}

// clearPrefix begins the content of a compaction that is not sealed, because there are no keys. It holds only what its
// client knows.
const clearPrefix = "clear."

// newCompaction returns an item as its client gets it.
func (s *sealer) newCompaction(payload string, bound *seal.Bound) json.RawMessage {
	return s.compactionForClient(&store.Item{Body: mustMarshal(map[string]string{
		"type": typeCompaction, "id": newID(idPrefixes[typeCompaction]), hiddenText: payload})}, bound)
}

func (s *sealer) compactionForClient(item *store.Item, bound *seal.Bound) json.RawMessage {
	var fields map[string]json.RawMessage
	payload := ""
	if json.Unmarshal(item.Body, &fields) != nil || json.Unmarshal(orNull(fields[hiddenText]), &payload) != nil {
		return item.Body
	}
	delete(fields, hiddenText)
	sealed := []byte(clearPrefix + base64.RawURLEncoding.EncodeToString([]byte(payload)))
	if s.keys != nil {
		b, err := s.keys.Seal(nil, []byte(payload), compactionBound(bound), s.now().Add(s.lifetime).Unix())
		if err != nil {
			s.log.Error("a compaction was not sealed", "error", err)
		}
		sealed = b
	}
	fields["encrypted_content"] = mustMarshal(string(sealed))
	return mustMarshal(fields)
}

// openCompaction opens what an item stands for. It is stored under the store's own key.
func (r *itemReader) openCompaction(at string, fields map[string]json.RawMessage) *openai.Error {
	sealed := ""
	if json.Unmarshal(orNull(fields["encrypted_content"]), &sealed) != nil {
		return wrongType(at+".encrypted_content", "a string")
	}
	payload, err := r.openPayload(sealed)
	if err == nil {
		err = json.Unmarshal(payload, &content{})
	}
	if err != nil {
		return openai.InvalidEncryptedContent(at+".encrypted_content", "The encrypted content of '"+at+"' cannot be opened: "+
			err.Error()+". Send the conversation itself.")
	}
	delete(fields, "encrypted_content")
	fields[hiddenText] = mustMarshal(string(payload))
	return nil
}

func (r *itemReader) openPayload(sealed string) ([]byte, error) {
	s := &r.settings.sealer
	if text, isClear := strings.CutPrefix(sealed, clearPrefix); isClear {
		return base64.RawURLEncoding.DecodeString(text)
	}
	if s.keys == nil {
		return nil, errors.New("this gateway has no keys")
	}
	return s.keys.Open([]byte(sealed), compactionBound(r.bound), s.now().Unix())
}

// expand returns what the model gets for a compaction.
func expand(payload string) []json.RawMessage {
	var c content
	_ = json.Unmarshal([]byte(payload), &c)
	return append([]json.RawMessage{userMessage(summaryIntroduction + c.Summary)}, c.Items...)
}
