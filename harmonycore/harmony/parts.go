package harmony

// PartKind is the kind of a part of a conversation as its reader sees it, whatever its channel and recipient.
type PartKind uint8

// The kinds of parts.
const (
	// PartReasoning is the model's reasoning: analysis, and any other text that is neither for the user nor for a tool.
	PartReasoning PartKind = iota + 1
	// PartText is what the user writes, or what the model answers.
	PartText
	// PartPreamble is what the model writes to the user before a call.
	PartPreamble
	// PartToolCall is a call of a tool. Its text holds the arguments.
	PartToolCall
	// PartToolResult is the answer of a tool.
	PartToolResult
	// PartSystem is content of the system message.
	PartSystem
	// PartDeveloper is content of a developer message.
	PartDeveloper
)

var partNames = [...]string{
	PartReasoning: "reasoning", PartText: "text", PartPreamble: "preamble", PartToolCall: "tool_call",
	PartToolResult: "tool_result", PartSystem: "system_content", PartDeveloper: "developer_content",
}

// String returns the kind's name in `harmony inspect parse --typed`.
func (k PartKind) String() string {
	if int(k) < len(partNames) {
		return partNames[k]
	}
	return ""
}

// Part is one item of a conversation's content.
type Part struct {
	Kind PartKind
	Role Role
	// Name is the tool of a [PartToolCall] or of a [PartToolResult], as written. Models may glue a content type to it, as
	// in "functions.getjson". For any other part it is the author's name, or empty.
	Name string
	// ContentType is for example "json". It is empty if the message has none.
	ContentType string
	Text        string
	// System and Developer hold structured content. [Part.Text] is then empty.
	System    *SystemContent
	Developer *DeveloperContent
}

// Parts lists the content of messages in their order, each item with its kind.
func Parts(messages []Message) []Part {
	parts := make([]Part, 0, len(messages))
	for i := range messages {
		m := &messages[i]
		kind := partKind(m.Role, m.Recipient.Value, m.Channel.Value)
		name := m.Name.Value
		if kind == PartToolCall {
			name = m.Recipient.Value
		}
		for j := range m.Content {
			c := &m.Content[j]
			parts = append(parts, Part{
				Kind: kind, Role: m.Role, Name: name, ContentType: m.ContentType.Value,
				Text: c.Text, System: c.System, Developer: c.Developer,
			})
		}
	}
	return parts
}

// Kind returns the kind of the content of a parsed message.
func (h *Header) Kind() PartKind { return partKind(h.Role, h.Recipient, h.Channel) }

// partKind decides by the role first, the recipient second and the channel third. A message without a channel is an
// answer: models that lose the format write such messages, and the answer must not be lost.
func partKind(role Role, recipient, channel string) PartKind {
	switch role {
	case User:
		return PartText
	case Tool:
		return PartToolResult
	case System:
		return PartSystem
	case Developer:
		return PartDeveloper
	}
	switch recipient {
	case "", "assistant", "all", "user":
	default:
		return PartToolCall
	}
	switch channel {
	case Final, "":
		return PartText
	case Commentary:
		return PartPreamble
	}
	return PartReasoning
}
