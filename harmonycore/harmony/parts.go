package harmony

// PartKind is what a part of a conversation is to its reader, whatever channel and recipient it was written with.
type PartKind uint8

// The kinds of parts.
const (
	// PartReasoning is what the model thinks: analysis, and whatever else it writes that is for neither user nor tool.
	PartReasoning PartKind = iota + 1
	// PartText is what the user says, and what the model answers.
	PartText
	// PartPreamble is what the model says to the user on its way to a call.
	PartPreamble
	// PartToolCall is a call of a tool. Its text is the arguments.
	PartToolCall
	// PartToolResult is what a tool has answered.
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
	// Name is the tool that a [PartToolCall] is for or a [PartToolResult] is from, as it is written: models glue a
	// content type to it, as in "functions.getjson". Of any other part it is the author's name, empty where there is
	// none.
	Name string
	// ContentType is such as "json". It is empty where the message names none.
	ContentType string
	Text        string
	// System and Developer are set where the content is structured. [Part.Text] is then empty.
	System    *SystemContent
	Developer *DeveloperContent
}

// Parts lists the content of messages in their order, each item by its kind.
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

// Kind returns what the content of a parsed message is.
func (h *Header) Kind() PartKind { return partKind(h.Role, h.Recipient, h.Channel) }

// partKind goes by the role first, the recipient second and the channel third. A message without a channel is an
// answer: models write such when they lose the format, and the answer must not be lost.
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
