package harmony

// Header holds the fields of a parsed message's header. A field that the header lacks is empty.
type Header struct {
	Role Role
	Name string
	// Channel is as the model wrote it. A known channel has its proper spelling ([Analysis], [Commentary], [Final]).
	Channel string
	// Recipient is as the model wrote it. Models may glue a content type to it, as in "functions.getjson". Only a caller
	// that has the list of tools can separate the two.
	Recipient   string
	ContentType string
}

// End is how a parsed message ended.
type End uint8

// The ends of a message. [Cut] is the end of the stream, or a new message, without a terminator.
const (
	Cut End = iota
	EndedByEnd
	EndedByReturn
	EndedByCall
)

// Unfinished is a [Sink] that knows of a form of the open message. A server that holds a model to a form of text may let it
// write control tokens into the text, and goes on with the same message (see [StreamParser.Within]).
type Unfinished interface {
	// Unfinished reports whether the open message must go on, because it does not have its form yet.
	Unfinished() bool
}

// Sink receives a stream of messages from a parser. Each message is one [Sink.Open], a [Sink.Content] for each of its
// tokens, and one [Sink.Close]. No text given to a Sink contains a control token.
type Sink interface {
	Open(header Header)
	// Content receives the text that the newest tokens completed: whole runes, or no text while an incomplete rune is held
	// back. The bytes are valid only during the call. tokens is the number of content tokens taken since the last call.
	Content(text []byte, tokens int)
	Close(end End)
}
