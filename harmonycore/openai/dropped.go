package openai

// Dropped are the parts of a request that a model of text cannot read. Each has left a note in its place.
type Dropped struct {
	Count int
	// First is the error of the first one, for who refuses such parts; nil when there are none.
	First *Error
}

// omitted is the note that a part of this type leaves: the model shall know that there was something, and can say that
// it has not seen it. It is empty for types that nobody knows.
func omitted(kind string) string {
	switch kind {
	case "image_url", "input_image":
		return "[image omitted: this model reads text only]"
	case "input_audio":
		return "[audio omitted: this model reads text only]"
	case "file", "input_file":
		return "[file omitted: this model reads text only]"
	default:
		return ""
	}
}
