package openai

// includable lists the API's values of include, for error messages. All but two ask for details of tools and images
// that this gateway never has.
const includable = "'file_search_call.results', 'web_search_call.results', 'web_search_call.action.sources', " +
	"'message.input_image.image_url', " +
	"'computer_call_output.output.image_url', 'code_interpreter_call.outputs', 'reasoning.encrypted_content', and " +
	"'message.output_text.logprobs'"

// IncludeMessages is the value of include that asks for [HarmonyMessages]. OpenAI's API does not have it.
const IncludeMessages = "harmony.messages"

// NotIncludable returns the error for an unsupported value of include.
func NotIncludable(at, name string) *Error { return notOneOf(at, name, includable) }

func (r *ResponsesRequest) readInclude(param string, v value) *Error {
	if !v.given() {
		return nil
	}
	return v.elements(param, func(_ int, at string, v value) *Error {
		name := ""
		if err := v.text(at, &name); err != nil {
			return err
		}
		switch name {
		case "reasoning.encrypted_content":
			r.SealedReasoning = true
		case IncludeMessages:
			r.MessagesAt = at
		case "message.output_text.logprobs":
			r.Logprobs = true
		case "file_search_call.results", "web_search_call.results", "web_search_call.action.sources",
			"message.input_image.image_url",
			"computer_call_output.output.image_url", "code_interpreter_call.outputs":
		default:
			return NotIncludable(at, name)
		}
		return nil
	})
}
