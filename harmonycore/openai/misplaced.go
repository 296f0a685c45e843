package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// misplaced is a parameter of the other API, and what has its meaning here. Without an error such a parameter would do
// nothing, and the client would not learn of it.
type misplaced struct{ name, instead string }

// chatNames are parameters of Chat Completions that a Responses request has no use for, and responsesNames the reverse.
// Parameters that both APIs have under one name, or that only say how an answer is made, are not among them, nor are
// 'messages' and 'input': without its own an API says what is missing.
var (
	chatNames = [...]misplaced{
		{"response_format", "'text.format'"}, {"max_tokens", maxOutputTokens},
		{"max_completion_tokens", maxOutputTokens}, {"reasoning_effort", "'reasoning.effort'"},
		{"verbosity", "'text.verbosity'"}, {"logprobs", "'message.output_text.logprobs' in 'include'"},
		{"functions", "'tools'"}, {"function_call", "'tool_choice'"},
	}
	responsesNames = [...]misplaced{
		{"instructions", "a message of the role 'system' in 'messages'"},
		{"text", "'response_format' and 'verbosity'"}, {"max_output_tokens", "'max_completion_tokens'"},
		{"previous_response_id", "all of the conversation in 'messages'"},
		{"conversation", "all of the conversation in 'messages'"},
	}
)

const maxOutputTokens = "'max_output_tokens'"

// MisplacedInChat and MisplacedInResponses return the names of the other API's parameters that are refused.
func MisplacedInChat() []string { return misplacedNames(responsesNames[:]) }

// MisplacedInResponses is explained at [MisplacedInChat].
func MisplacedInResponses() []string { return append(misplacedNames(chatNames[:]), "n") }

func misplacedNames(list []misplaced) []string {
	names := make([]string, 0, len(list)+1)
	for i := range list {
		names = append(names, list[i].name)
	}
	return names
}

// misplacedInChat returns what a Chat request has instead of a parameter of Responses, or "" for any other parameter.
func misplacedInChat(name string) string { return insteadOf(responsesNames[:], name) }

// misplacedInResponses is misplacedInChat for a Responses request.
func misplacedInResponses(name string) string { return insteadOf(chatNames[:], name) }

func insteadOf(list []misplaced, name string) string {
	for i := range list {
		if list[i].name == name {
			return list[i].instead
		}
	}
	return ""
}

// refuseMisplaced refuses a parameter of the other API, unless it asks for nothing.
func (v value) refuseMisplaced(name, api, instead string) *Error {
	if !v.given() || v.isEmpty() || v.kind == rawjson.Bool && !v.isTrue() {
		return nil
	}
	return Unsupported(name, "Unsupported parameter: '"+name+"'. "+api+" has "+instead+" for it. Try again with that.")
}

// oneAnswer refuses a number of answers other than one.
func (v value) oneAnswer(name string) *Error {
	n := int64(1)
	if err := v.integer(name, 1, &n); err != nil || n == 1 {
		return err
	}
	return Unsupported(name, "Unsupported value: '"+name+"' cannot be more than 1, since a response is one answer. Use "+
		"Chat Completions, which has '"+name+"', or send the request again.")
}
