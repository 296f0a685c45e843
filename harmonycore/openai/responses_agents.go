package openai

import "strings"

// readAgentMessage reads what another agent of the client's has sent: a task, or an answer to one. Its encrypted_content
// is an argument of that agent's call, which is plain text where gpt-oss has written it.
func (r *ResponsesRequest) readAgentMessage(at string, f *itemFields) (item InputItem, err *Error) {
	if !f.content.given() {
		return item, nil
	}
	item.Kind, item.Role = ItemMessage, RoleUser
	dropped := &r.Dropped
	if r.keepsMedia {
		dropped = nil
	}
	if item.Content, err = f.content.readParts(join(at, "content"), agentParts, dropped); err != nil {
		return item, err
	}
	for i, part := range item.Content {
		if isSealedElsewhere(part) {
			item.Content[i] = "[A part of this message was encrypted by another service and cannot be read here.]"
			r.Ignored[IgnoredUnknown]++
		}
	}
	return item, nil
}

// sealedElsewhere begins what OpenAI's service encrypts. leastSealed is how long that is at least: a Fernet token has a
// head of 25 bytes, a block of 16 and a digest of 32, in base64.
const (
	sealedElsewhere = "gAAAAA"
	leastSealed     = 100
)

func isSealedElsewhere(text string) bool {
	return strings.HasPrefix(text, sealedElsewhere) && len(text) >= leastSealed && !strings.ContainsAny(text, " \n")
}
