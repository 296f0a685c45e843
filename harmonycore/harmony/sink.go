package harmony

// Header is what a parsed message says of itself before its content. What it does not say is empty.
type Header struct {
	Role Role
	Name string
	// Channel is what the model wrote, a known one as it is spelled ([Analysis], [Commentary], [Final]).
	Channel string
	// Recipient is as written. Models glue a content type to it, as in "functions.getjson": only who knows the tools
	// can tell that from a name.
	Recipient   string
	ContentType string
}

// End says how a parsed message ended.
type End uint8

// The ends of a message. Cut is the end of the stream, or a new message, before any terminator.
const (
	Cut End = iota
	EndedByEnd
	EndedByReturn
	EndedByCall
)

// Sink receives a stream of messages from a parser: for each message [Sink.Open] once, [Sink.Content] for every token
// of it, and [Sink.Close] once. No text given to a Sink holds a control token.
type Sink interface {
	Open(header Header)
	// Content is the text that became whole with the newest tokens: full runes, possibly none while a rune is held
	// back. The bytes are only valid during the call. tokens is how many content tokens were taken since the last call.
	Content(text []byte, tokens int)
	Close(end End)
}
