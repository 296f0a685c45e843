package openai

// Dropped describes the parts of a request that a text model cannot read. A note replaces each of them
// (RATIONALE.md#54).
type Dropped struct {
	Count int
	// First is the error for the first such part, for models that refuse them. It is nil if there are none.
	First *Error
}

// OmissionNote returns the note that replaces a part of this type. It lets the model know that there was something it
// has not seen. It is empty for unknown types.
func OmissionNote(kind string) string {
	switch kind {
	case mediaImage, "input_image":
		return "[image omitted: this model reads text only]"
	case "input_video", mediaVideo:
		return "[video omitted: this model reads text only]"
	case mediaAudio, mediaSound:
		return "[audio omitted: this model reads text only]"
	case mediaFile, "input_file":
		return "[file omitted: this model reads text only]"
	default:
		return ""
	}
}
