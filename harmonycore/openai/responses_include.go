package openai

// includable are the API's values of include. All but two ask for a detail of something that there is none of here.
const includable = "'file_search_call.results', 'web_search_call.results', 'web_search_call.action.sources', 'message.input_image.image_url', " +
	"'computer_call_output.output.image_url', 'code_interpreter_call.outputs', 'reasoning.encrypted_content', and 'message.output_text.logprobs'"

// IncludeMessages asks for HarmonyMessages. It is no value of OpenAI's.
const IncludeMessages = "harmony.messages"

// NotIncludable is the error of a value of include that cannot be had.
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
		case "file_search_call.results", "web_search_call.results", "web_search_call.action.sources", "message.input_image.image_url",
			"computer_call_output.output.image_url", "code_interpreter_call.outputs":
		default:
			return NotIncludable(at, name)
		}
		return nil
	})
}
