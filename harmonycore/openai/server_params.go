package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// serverParam is a parameter of inference servers that would change the client's answer, and that is not supported
// here.
type serverParam struct {
	name string
	// activeWhen is the value that asks for the parameter's effect: true, false, or with anyValue any value.
	activeWhen activation
	// why ends the error message.
	why string
}

type activation uint8

const (
	anyValue activation = iota
	whenTrue
	whenFalse
)

// serverParams are parameters of the Chat endpoints of vLLM and SGLang. Parameters that only affect how a server works,
// or that add to its answer, are ignored, as unknown ones are.
var serverParams = [...]serverParam{
	{"continue_final_message", whenTrue, "an answer begins with a message of its own"},
	{"add_generation_prompt", whenFalse, "an answer begins with a message of its own"},
	{"echo", whenTrue, "an answer is the model's alone"},
	{"ignore_eos", whenTrue, "an answer ends where the model ends it; 'min_tokens' makes it longer where it is allowed"},
	{"include_stop_str_in_output", whenTrue, "an answer ends before what stops it"},
	{"no_stop_trim", whenTrue, "an answer ends before what stops it"},
	{"separate_reasoning", whenFalse, "reasoning has fields of its own; 'include_reasoning' leaves it out"},
	{"include_reasoning", whenFalse, "only Chat Completions can leave reasoning out of an answer"},
	{"use_beam_search", whenTrue, "answers are sampled"},
	{"stop", anyValue, "use Chat Completions, which has it"},
	{"stop_regex", anyValue, "use 'stop' of Chat Completions"},
	{"bad_words", anyValue, "use 'logit_bias'"},
	{"allowed_token_ids", anyValue, "use 'logit_bias'"},
	{"logits_processors", anyValue, ""},
	{"custom_logit_processor", anyValue, ""},
	{"vllm_xargs", anyValue, ""},
	{"repetition_detection", anyValue, "the operator can configure it for the model"},
	{"truncate_prompt_tokens", anyValue, "send less, or Responses' 'truncation'"},
	{"documents", anyValue, "put them into a message"},
	{"chat_template", anyValue, "prompts have gpt-oss's own format"},
	{"lora_path", anyValue, "name another model"},
	{"session_params", anyValue, "send the whole conversation"},
	{"structural_tag", anyValue, "use 'response_format', 'structured_outputs' or tools"},
	{"guided_whitespace_pattern", anyValue, ""},
	{"enable_response_messages", whenTrue, "only Responses can have the model's messages"},
}

// ServerParams returns the names of all parameters that only inference servers have and that are supported or refused
// here.
func ServerParams() []string {
	names := append([]string{"include_reasoning", "best_of", "thinking_token_budget", "return_token_ids"}, guidedNames...)
	for i := range serverParams {
		if serverParams[i].name != "include_reasoning" {
			names = append(names, serverParams[i].name)
		}
	}
	return append(names, extraNames...)
}

// refuseServers refuses a parameter that only servers have, if its value asks for an effect.
func (v value) refuseServers(name string) *Error {
	if name == "best_of" {
		n := int64(0)
		if err := v.integer(name, 0, &n); err != nil || n <= 1 {
			return err
		}
		return Unsupported(name, "Unsupported value: 'best_of' cannot be more than 1: use 'n', and choose.")
	}
	for i := range serverParams {
		p := &serverParams[i]
		if p.name != name || !v.given() {
			continue
		}
		message := "Unsupported parameter: '" + name + "' is not supported"
		switch p.activeWhen {
		case anyValue:
			if v.isEmpty() {
				return nil
			}
		default:
			on := false
			if err := v.boolean(name, &on); err != nil || on == (p.activeWhen == whenFalse) {
				return err
			}
			word := "true"
			if p.activeWhen == whenFalse {
				word = "false"
			}
			message = "Unsupported value: '" + name + "' cannot be " + word
		}
		if p.why != "" {
			message += ": " + p.why
		}
		return Unsupported(name, message+".")
	}
	return nil
}

// isEmpty reports whether a value is an empty array, object or string. White space counts as empty.
func (v value) isEmpty() bool {
	switch v.kind {
	case rawjson.Array, rawjson.Object:
		return len(v.raw) >= 2 && isSpace(v.raw[1:len(v.raw)-1])
	case rawjson.String:
		return len(v.raw) == 0
	}
	return false
}

func isSpace(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return false
		}
	}
	return true
}
