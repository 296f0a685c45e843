package openai

// includable lists the API's values of include, for error messages. All but two ask for details of tools and images
// that this gateway never has.
const includable = "'file_search_call.results', 'web_search_call.results', 'web_search_call.action.sources', " +
	"'message.input_image.image_url', " +
	"'computer_call_output.output.image_url', 'code_interpreter_call.outputs', 'reasoning.encrypted_content', and " +
	"'message.output_text.logprobs'"

// IncludeMessages is the value of include that asks for [HarmonyMessages]. OpenAI's API does not have it.
const IncludeMessages = "harmony.messages"

// IncludeSampledIDs is the value of include that asks for the ids with which the model has written its answer. OpenAI's
// API does not have it.
const IncludeSampledIDs = "turn.sampled_ids"

// NotIncludable returns the error for an unsupported value of include.
func NotIncludable(at, name string) *Error { return notOneOf(at, name, includable) }

// NoMessages returns the error for a request for [HarmonyMessages] at a model that gives none. at is
// [ResponsesRequest.MessagesAt].
func NoMessages(at string) *Error {
	if at != "enable_response_messages" {
		return NotIncludable(at, IncludeMessages)
	}
	return Unsupported(at, "Unsupported value: '"+at+"' cannot be true with this model. Its operator can allow it with "+
		"'answers.harmony_messages', if the model speaks Harmony.")
}

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
		case IncludeSampledIDs:
			r.SampledIDs = true
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
