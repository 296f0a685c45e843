package openai

// HarmonyMessages are the messages that the model has read and written. Each field is JSON text: an array of messages,
// or empty for null.
type HarmonyMessages struct{ Input, Output []byte }

// append adds them to a response, under vLLM's names.
func (m *HarmonyMessages) append(dst []byte) []byte {
	if m == nil {
		return dst
	}
	dst = appendText(dst, `,"input_messages":`, string(m.Input), "null")
	return appendText(dst, `,"output_messages":`, string(m.Output), "null")
}
