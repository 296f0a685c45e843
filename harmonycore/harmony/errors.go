package harmony

// RenderErrorKind enumerates the reasons why a conversation cannot be rendered. The list is closed.
type RenderErrorKind uint8

const (
	// UnnamedTool is a message of a tool without a name.
	UnnamedTool RenderErrorKind = iota + 1
	// MisplacedContent is system or developer content in a message of another role.
	MisplacedContent
	// SchemaTooDeep is a tool schema nested beyond [MaxSchemaDepth].
	SchemaTooDeep
	// NumberOutOfRange is a number in a schema that no double can hold.
	NumberOutOfRange
	// UnknownRole is a role that is not one of the format's five.
	UnknownRole
)

// RenderError is the reason why a conversation cannot be rendered. If the reference refuses the conversation too,
// Message is the reference's error text.
type RenderError struct {
	Kind    RenderErrorKind
	Message string
}

// Error implements error.
func (e *RenderError) Error() string { return e.Message }

// ParseErrorKind enumerates the errors of a [StrictParser]. The list is closed.
type ParseErrorKind uint8

const (
	// ExpectedStart is a token other than <|start|> between messages.
	ExpectedStart ParseErrorKind = iota + 1
	// EndInHeader is a stream that ends inside a header.
	EndInHeader
	// Undecodable is a header that cannot be decoded to text.
	Undecodable
	// EmptyChannelName is a channel marker without a name after it.
	EmptyChannelName
	// NoRole is a header without any word, so without a role.
	NoRole
	// BadRole is a header of one word that is not a role.
	BadRole
	// Leftover is a header with more parts than the grammar allows.
	Leftover

	// ParseErrorKinds is one more than the highest kind.
	ParseErrorKinds = iota + 1
)

var parseErrorNames = [ParseErrorKinds]string{
	ExpectedStart: "expected_start", EndInHeader: "end_in_header", Undecodable: "undecodable",
	EmptyChannelName: "empty_channel_name", NoRole: "no_role", BadRole: "bad_role", Leftover: "leftover",
}

// String returns the kind's name in metrics.
func (k ParseErrorKind) String() string {
	if int(k) < len(parseErrorNames) {
		return parseErrorNames[k]
	}
	return ""
}

// ParseError is an error of the [StrictParser], with the reference's text.
type ParseError struct {
	Kind ParseErrorKind
	// Token is the number of tokens fed before the one that failed.
	Token   int
	Message string
}

// Error implements error.
func (e *ParseError) Error() string { return e.Message }

// InputError is the reason why a text is not a conversation in the reference's JSON.
type InputError struct{ Message string }

// Error implements error.
func (e *InputError) Error() string { return "invalid conversation JSON: " + e.Message }
