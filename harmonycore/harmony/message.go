package harmony

// Role is the author's part in the conversation.
type Role uint8

// The roles of the format. The zero Role is none.
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

// Optional is a string that may be absent: the format tells an absent name from an empty one.
type Optional struct {
	Value string
	Set   bool
}

// Some is a present string.
func Some(s string) Optional { return Optional{Value: s, Set: true} }

// Message is one message of a conversation.
type Message struct {
	Role Role
	// Name is the author's name: a tool's full name ("functions.get_weather") for the role [Tool], where it is
	// required.
	Name Optional
	// Recipient is who is spoken to: the tool that is called, or for a tool's answer "assistant".
	Recipient Optional
	Channel   Optional
	// ContentType is such as "json", or "<|constrain|>json" with the control token.
	ContentType Optional
	Content     []Content
}

// Content is one item of a message: exactly one of [Content.System] and [Content.Developer] is set, or neither, and
// then [Content.Text] counts.
type Content struct {
	Text      string
	System    *SystemContent
	Developer *DeveloperContent
}

// Text makes the content of a message that is one text.
func Text(s string) []Content { return []Content{{Text: s}} }

// Effort is the reasoning effort named in the system message; the zero [Effort] names none.
type Effort uint8

// The efforts that gpt-oss knows.
const (
	Low Effort = iota + 1
	Medium
	High
)

// SystemContent is rendered as the text of the system message: what the model is told of itself. Absent parts are left
// out, never defaulted.
type SystemContent struct {
	ModelIdentity   Optional
	KnowledgeCutoff Optional
	// ConversationStartDate is printed as the current date, as YYYY-MM-DD.
	ConversationStartDate Optional
	Effort                Effort
	// Tools are for built-in ones ([BrowserTools], [PythonTools]).
	Tools    []Namespace
	Channels *ChannelConfig
}

// ChannelConfig lists the channels that the model may use.
type ChannelConfig struct {
	Valid []string
	// Required says that every message must name one.
	Required bool
}

// DeveloperContent is rendered as the text of a developer message: what OpenAI's APIs call the system prompt.
type DeveloperContent struct {
	Instructions Optional
	// Tools are the functions of the application, in a namespace whose [Namespace.Key] is "functions".
	Tools []Namespace
}

// Namespace is a group of tools. Namespaces are printed in the byte order of [Namespace.Key], under the name
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
	// Parameters is the JSON schema of its arguments, as [ParseSchema] reads it. A function without arguments has none.
	Parameters *Schema
}

// Conversation is what is rendered: messages in their order.
type Conversation struct {
	Messages []Message
}
