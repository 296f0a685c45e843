package harmony

// RenderErrorKind is the closed list of reasons for which a conversation cannot be rendered.
type RenderErrorKind uint8

const (
	// UnnamedTool is a tool's message without a name.
	UnnamedTool RenderErrorKind = iota + 1
	// MisplacedContent is system or developer content in a message of another role.
	MisplacedContent
	// SchemaTooDeep is a tool schema nested beyond [MaxSchemaDepth].
	SchemaTooDeep
	// NumberOutOfRange is a number in a schema that no double can hold.
	NumberOutOfRange
	// UnknownRole is a role outside the format's five.
	UnknownRole
)

// RenderError says why a conversation cannot be rendered. Where the reference refuses it too, the text is the
// reference's.
type RenderError struct {
	Kind    RenderErrorKind
	Message string
}

// Error implements error.
func (e *RenderError) Error() string { return e.Message }

// ParseErrorKind is the closed list of errors of the [StrictParser].
type ParseErrorKind uint8

const (
	// ExpectedStart is a token other than <|start|> between messages.
	ExpectedStart ParseErrorKind = iota + 1
	// EndInHeader is the end of the stream inside a header.
	EndInHeader
	// Undecodable is a header, or what stands for one, that is not text.
	Undecodable
	// EmptyChannelName is a channel marker without a name behind it.
	EmptyChannelName
	// NoRole is a header that names no role.
	NoRole
	// BadRole is a header with one word that names no role.
	BadRole
	// Leftover is a header with more parts than the grammar has.
	Leftover

	// ParseErrorKinds is one more than the last of them.
	ParseErrorKinds = iota + 1
)

var parseErrorNames = [ParseErrorKinds]string{
	ExpectedStart: "expected_start", EndInHeader: "end_in_header", Undecodable: "undecodable",
	EmptyChannelName: "empty_channel_name", NoRole: "no_role", BadRole: "bad_role", Leftover: "leftover",
}

// String is the kind's name in metrics.
func (k ParseErrorKind) String() string {
	if int(k) < len(parseErrorNames) {
		return parseErrorNames[k]
	}
	return ""
}

// ParseError is an error of the [StrictParser], with the reference's text.
type ParseError struct {
	Kind ParseErrorKind
	// Token counts the tokens fed before the one that failed.
	Token   int
	Message string
}

// Error implements error.
func (e *ParseError) Error() string { return e.Message }

// InputError says why a text is not a conversation in the reference's JSON.
type InputError struct{ Message string }

// Error implements error.
func (e *InputError) Error() string { return "invalid conversation JSON: " + e.Message }
