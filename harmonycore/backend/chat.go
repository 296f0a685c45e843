package backend

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// chat is any server with OpenAI's /v1/chat/completions. A request holds a conversation, and an answer comes in text,
// with reasoning and calls beside it.
type chat struct{}

func (chat) Facts() *contract.Kind { return contract.KindNamed(contract.Chat) }

func (chat) NewReader() Reader {
	r := &chatReader{}
	return &eventStream{read: r.read, more: r.more, fitted: r.fitted, variables: chatVariables}
}

// AppendRequest sends what the client has chosen and nothing else, since the servers know their models' defaults.
func (chat) AppendRequest(dst []byte, r *Request) []byte {
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	if r.Conversation != nil {
		dst = r.Conversation(dst)
	}
	if r.MaxTokens > 0 {
		dst = rawjson.AppendInt(append(dst, `,"max_tokens":`...), int64(r.MaxTokens))
	}
	if r.Choices > 1 {
		dst = rawjson.AppendInt(append(dst, `,"n":`...), int64(r.Choices))
	}
	if r.Logprobs || r.TokenIDs {
		dst = append(dst, `,"logprobs":true`...)
	}
	if r.Logprobs && r.TopLogprobs > 0 {
		dst = rawjson.AppendInt(append(dst, `,"top_logprobs":`...), int64(r.TopLogprobs))
	}
	if len(r.StopTokens) > 0 {
		dst = rawjson.AppendIDs(append(dst, `,"stop_token_ids":`...), r.StopTokens)
	}
	dst = appendSampling(dst, &r.Sampling)
	dst = appendBiases(dst, r.Sampling.LogitBias)
	for _, m := range r.Sampling.Extras {
		dst = appendMember(dst, m)
	}
	if r.TokenIDs {
		// With return_tokens_as_token_ids the client's own logprobs would have no texts.
		dst = append(dst, `,"return_token_ids":true`...)
	}
	return append(dst, `,"stream":true,"stream_options":{"include_usage":true}}`...)
}

// Cause looks at the code, the type and the parameter of the error, and at its words: most servers have nothing else.
func (chat) Cause(e *Error) Cause {
	message := strings.ToLower(e.Message)
	switch e.Status {
	case 0, 400, 413, 422: // an error within a stream may have no status
	case 404, 500: // OpenRouter's and llama.cpp's for images, Ollama's for system messages
		switch {
		case containsAny(message, imageWords[:]):
			return ImageRefused
		case containsAny(message, lateSystemWords[:]):
			return LateSystemRefused
		}
		return OtherCause
	default:
		return OtherCause
	}
	switch {
	case e.Code == contract.CodeContextLengthExceeded, e.Type == "exceed_context_size_error", e.Param == "input_tokens",
		containsAny(message, contextWords[:]):
		return ContextExceeded
	case e.Param == "n", containsAny(message, choicesWords[:]):
		return ChoicesRefused
	case e.Param == "image", containsAny(message, imageWords[:]):
		return ImageRefused
	case e.Param == "reasoning_effort", strings.Contains(message, "reasoning_effort"):
		return EffortRefused
	case strings.HasPrefix(e.Param, "response_format"), containsAny(message, formatWords[:]):
		return FormatRefused
	case containsAny(message, lateSystemWords[:]):
		return LateSystemRefused
	default:
		return OtherCause
	}
}

// contextWords are parts of servers' messages about a conversation that is too long, in lower case.
var contextWords = [...]string{
	"context length",                          // OpenAI, vLLM, SGLang, DeepSeek, Mistral, OpenRouter, Ollama
	"context window",                          // OpenAI, Together, MiniMax
	"available context size",                  // llama.cpp
	"maximum model length",                    // vLLM's engine
	"max_tokens must be at least 1, got ",     // vLLM, about what the conversation leaves for the answer
	"`inputs` tokens + `max_new_tokens` must", // TGI, Together
	"`inputs` must have less than",            // TGI
	"should not exceed max_num_tokens",        // TensorRT-LLM
	"should not exceed max_seq_len",           // TensorRT-LLM
	"`default_max_tokens` (",                  // TensorRT-LLM
	"input token count",                       // Gemini
	"input tokens exceed",                     // OpenAI
	"exceeded max_prompt_tokens",              // SiliconFlow
	"prompt token count",                      // Copilot
	"prompt is too long",                      // Anthropic, Fireworks
	"input is too long",                       // Bedrock
	"maximum prompt length",                   // xAI
	"range of input length",                   // DashScope
	"exceeded model token limit",              // Moonshot
	"prompt exceeds max length",               // Zhipu
	"reduce the length of the messages",       // Groq
}

// choicesWords are parts of servers' messages about a request for several answers, in lower case.
var choicesWords = [...]string{
	"only n=1 is supported",      // vLLM's Rust front end
	"only one completion choice", // llama.cpp
	"field 'n':",                 // llama.cpp
	"'n' : number must be",       // Groq
}

// imageWords are parts of servers' messages about images that their model does not take, in lower case.
var imageWords = [...]string{
	"not a multimodal model",   // vLLM
	"image(s) may be provided", // vLLM
	"image input",              // llama.cpp, OpenRouter, Together
	"support image",            // Ollama, Groq
	"image_url",                // OpenAI, DeepSeek
	"allowed values: ['text']", // Volcengine
}

// formatWords are parts of servers' messages about a form of the answer that they do not take, in lower case.
var formatWords = [...]string{
	"response_format", // OpenAI, DeepSeek, llama.cpp
	"response format", // Groq
}

// lateSystemWords are parts of servers' messages about a system message that is not the first one, in lower case.
var lateSystemWords = [...]string{
	"system message must be at the beginning", // the template of Qwen 3.5 and later, Ollama
	"unexpected role 'system' after role",     // Mistral
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
