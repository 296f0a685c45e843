package harmony

// Role is the role of a message's author.
type Role uint8

// The roles of the format. The zero Role is not a role.
const (
	User Role = iota + 1
	Assistant
	System
	Developer
	Tool
)

// The channels that gpt-oss is trained on. Any other text may stand in a header too.
const (
	Analysis   = "analysis"
	Commentary = "commentary"
	Final      = "final"
)

// Optional is a string that may be absent. The format distinguishes an absent name from an empty one.
type Optional struct {
	Value string
	Set   bool
}

// Some returns a present [Optional].
func Some(s string) Optional { return Optional{Value: s, Set: true} }

// Message is one message of a conversation.
type Message struct {
	Role Role
	// Name is the author's name. For the role [Tool] it is required, and is the tool's full name
	// ("functions.get_weather").
	Name Optional
	// Recipient is the addressee: the tool that is called, or "assistant" for a tool's answer.
	Recipient Optional
	Channel   Optional
	// ContentType is for example "json", or "<|constrain|>json" with the control token.
	ContentType Optional
	Content     []Content
	// RecipientLast reports whether the recipient stands behind the channel, where the model itself writes it. The
	// reference renders it before the channel.
	RecipientLast bool
	// Sampled are the ids with which the model itself has written the message, from <|start|> on: the whole message, or
	// its header alone, which ends with <|message|>. They are rendered in place of what they stand for. If the message has
	// no end, or ends as a whole answer does, it gets the end that it has in a history.
	Sampled []uint32
}

// Content is one item of a message. At most one of [Content.System] and [Content.Developer] is set. If neither is,
// [Content.Text] counts.
type Content struct {
	Text      string
	System    *SystemContent
	Developer *DeveloperContent
}

// Text returns the content of a message that is one text.
func Text(s string) []Content { return []Content{{Text: s}} }

// Effort is the reasoning effort named in the system message; the zero [Effort] names none.
type Effort uint8

// The efforts that gpt-oss supports.
const (
	Low Effort = iota + 1
	Medium
	High
)

// SystemContent is rendered as the text of the system message, which describes the model to itself. Absent parts are
// left out; no part has a default.
type SystemContent struct {
	ModelIdentity   Optional
	KnowledgeCutoff Optional
	// ConversationStartDate is printed as the current date, in the form YYYY-MM-DD.
	ConversationStartDate Optional
	Effort                Effort
	// Tools are the built-in tools ([BrowserTools], [ContainerTools], [PythonTools]).
	Tools    []Namespace
	Channels *ChannelConfig
}

// ChannelConfig lists the channels that the model may use.
type ChannelConfig struct {
	Valid []string
	// Required reports whether every message must name a channel.
	Required bool
}

// DeveloperContent is rendered as the text of a developer message, which OpenAI's APIs call the system prompt.
type DeveloperContent struct {
	Instructions Optional
	// Tools are the functions of the application, in a namespace whose [Namespace.Key] is "functions".
	Tools []Namespace
	// Section keeps what Tools are rendered to, for further messages with the same tools. It may be nil.
	Section *ToolSection
}

// ToolSection is the end of a developer message, which declares functions, as ids. It gets them when the first message
// that it is in is rendered. Further messages with it need no Tools. It is not safe for concurrent use.
type ToolSection struct{ ids []uint32 }

// Rendered reports whether the section has its ids. A nil one has none.
func (s *ToolSection) Rendered() bool { return s != nil && len(s.ids) > 0 }

// Namespace is a group of tools. Namespaces are printed in the byte order of [Namespace.Key], each with its
// [Namespace.Name].
type Namespace struct {
	Key         string
	Name        string
	Description Optional
	Tools       []ToolDescription
}

// ToolDescription is one function that the model may call.
type ToolDescription struct {
	Name        string
	Description string
	// Parameters is the JSON schema of the arguments, as [ParseSchema] reads it. It is nil for a function without
	// arguments.
	Parameters *Schema
}

// Conversation is a list of messages to render, in their order.
type Conversation struct {
	Messages []Message
}
