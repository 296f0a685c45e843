package translate

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// AppendConversation appends the members of a request to servers that take conversations: what is asked, each as
// ,"name":value. It is called once, before the memory of the client's body is used for something else.
func (r *Request) AppendConversation(dst []byte) []byte {
	s := r.takeSpoken()
	if s == nil {
		return dst
	}
	dst = s.appendPrompt(dst)
	dst = s.appendChoice(dst, r.tools)
	dst = s.appendFormat(dst)
	if verbosity := s.in.Echo.Verbosity; verbosity != "" {
		dst = append(s.name(dst, "verbosity"), verbosity...)
	}
	return chatserver.AppendExtraBody(dst, s.model.ExtraBody, func(name string) bool {
		return slices.Contains(s.given, name) || r.samples(name)
	})
}

// AppendPrompt is [Request.AppendConversation] for a request that asks for the prompt's tokens and for no answer.
func (r *Request) AppendPrompt(dst []byte) []byte {
	if s := r.takeSpoken(); s != nil {
		return s.appendPrompt(dst)
	}
	return dst
}

// takeSpoken returns what the servers are asked. The request keeps no reference to it.
func (r *Request) takeSpoken() *spoken {
	s := r.spoken
	r.spoken = nil
	return s
}

// appendPrompt appends the members from which servers make a prompt.
func (s *spoken) appendPrompt(dst []byte) []byte {
	dst = chatserver.Reserve(dst, s.size+len(s.in.Input)*itemSize)
	dst = append(s.appendMessages(append(s.name(dst, "messages"), '[')), ']')
	if len(s.tools) > 0 {
		dst = chatserver.AppendTools(s.name(dst, "tools"), s.tools)
	}
	if own, client := s.model.Chat.TemplateKwargs, s.in.Sampling.TemplateKwargs; own != "" || len(client) > 0 {
		dst = chatserver.AppendKwargs(s.name(dst, "chat_template_kwargs"), client, own)
	}
	if s.in.Effort != "" {
		dst = append(append(append(s.name(dst, "reasoning_effort"), '"'), s.in.Effort...), '"')
	}
	return dst
}

// name appends a member's name.
func (s *spoken) name(dst []byte, name string) []byte {
	s.given = append(s.given, name)
	return append(append(append(dst, `,"`...), name...), `":`...)
}

// samples reports whether the request has the sampling parameter of this name, or must not have it.
func (r *Request) samples(name string) bool {
	s := &r.Sampling
	switch name {
	case "temperature":
		return s.Temperature != ""
	case "top_p":
		return s.TopP != ""
	case "presence_penalty":
		return s.PresencePenalty != ""
	case "frequency_penalty":
		return s.FrequencyPenalty != ""
	case "seed":
		return s.Seed != ""
	case "logit_bias":
		return len(s.LogitBias) > 0
	case "max_tokens", "max_completion_tokens":
		return s.MaxTokens > 0
	case "stop_token_ids":
		return len(s.StopTokenIDs) > 0
	case "logprobs", "top_logprobs":
		return r.Logprobs || r.answers.TokenIDs
	case "n", "return_token_ids", "return_tokens_as_token_ids":
		return true
	}
	return slices.ContainsFunc(s.Extras, func(e openai.Extra) bool { return e.Name == name })
}

func contentOf(item *openai.InputItem) chatserver.Content {
	return chatserver.Content{Parts: item.Content, Media: item.Media}
}

// appendChoice appends what the client wants of the tools.
func (s *spoken) appendChoice(dst []byte, tools toolset) []byte {
	if len(s.tools) == 0 {
		return dst
	}
	switch choice := &s.in.Choice; {
	case choice.Name != "" && (!choice.BuiltIn || len(s.tools) == 1):
		for i := range tools {
			if tools[i].chosen(choice) {
				dst = chatserver.AppendNamedChoice(s.name(dst, "tool_choice"), tools[i].shown)
				break
			}
		}
	case choice.Required:
		dst = append(s.name(dst, "tool_choice"), `"required"`...)
	case s.in.Echo.ToolChoice != "":
		dst = append(s.name(dst, "tool_choice"), `"auto"`...)
	}
	if parallel := s.in.Echo.ParallelToolCalls; parallel != "" {
		dst = append(s.name(dst, "parallel_tool_calls"), parallel...)
	}
	return dst
}

// appendFormat appends the form of the answer. A JSON schema is in OpenAI's form, which all servers share, wherever the
// client has it from. Any other form is the client's own parameter of servers, as it is. An answer that must be a call
// has none.
func (s *spoken) appendFormat(dst []byte) []byte {
	switch form := &s.in.ServerForm; {
	case s.in.Choice.Required:
		s.given = append(s.given, "response_format")
		return dst
	case s.in.Format.Schema != "":
		return chatserver.AppendFormat(s.name(dst, "response_format"), &s.in.Format)
	case form.Name != "":
		s.given = append(s.given, "response_format")
		return append(s.name(dst, form.Name), form.JSON...)
	}
	return dst
}
