package items

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// Complete adds the members that an item has when the API returns it.
func Complete(kind string, fields map[string]json.RawMessage) {
	if hasStatus(kind) && Missing(fields, "status") {
		fields["status"] = json.RawMessage(`"completed"`)
	}
	switch kind {
	case TypeReasoning:
		if Missing(fields, "summary") {
			fields["summary"] = json.RawMessage("[]")
		}
	case TypeMessage:
		content := bytes.TrimSpace(fields["content"])
		if len(content) == 0 || content[0] != '"' {
			return
		}
		role := ""
		_ = json.Unmarshal(OrNull(fields["role"]), &role)
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
	case TypeReasoning, TypeCompaction, TypeUpdate, TypeTools, TypeListTools, TypeApprovalRequest, TypeApprovalResponse:
		return false
	}
	return true
}

// IsCommentary reports whether an item is what a model says before a call.
func IsCommentary(item *store.Item) bool {
	var fields struct{ Role, Phase string }
	return item.Type == TypeMessage && json.Unmarshal(item.Body, &fields) == nil && fields.Role == "assistant" &&
		fields.Phase == openai.PhaseCommentary
}

// IsOfUser reports whether an item is a message of the user.
func IsOfUser(item *store.Item) bool {
	var message struct{ Role string }
	return item.Type == TypeMessage && json.Unmarshal(item.Body, &message) == nil && message.Role == "user"
}

// Storable reports whether a client's id or type is stored as it is. Databases have no text with a byte 0.
func Storable(text string) bool {
	return len(text) <= refusal.MaxQuoted && !strings.ContainsFunc(text, unicode.IsControl)
}
