package openai

import (
	"cmp"
	"net/http"

	"github.com/harmonyedge/harmonyedge/sim/server"
	"github.com/harmonyedge/harmonyedge/sim/vllm"
)

// chat is vLLM's /v1/chat/completions, by vllm/entrypoints/openai/chat_completion of vLLM 0.33. The model is the same
// as with the other kinds: a template turns the conversation into a Harmony prompt, and a parser turns the answer
// into a message. [server.Options.ChatForm] and the options after it make it a server of another make.
type chat struct{ server.Protocol }

// Chat returns /v1/chat/completions.
func Chat() server.Protocol { return chat{vllm.Completions()} }

func (chat) Defaults(o *server.Options) {
	o.ChatForm = cmp.Or(o.ChatForm, ChatReasoningContent)
	o.ChatMarker = cmp.Or(o.ChatMarker, DefaultMarker)
}

// DefaultMarker is the default of [server.Options.ChatMarker].
const DefaultMarker = "===FINAL==="

// chatPath is the path of conversations.
const chatPath = "/v1/chat/completions"

// The values of [server.Options.ChatForm]: where the reasoning of an answer is.
const (
	// ChatReasoningContent has it in reasoning_content, as SGLang, llama.cpp, DeepSeek and vLLM before 0.12 do.
	ChatReasoningContent = "reasoning_content"
	// ChatReasoning has it in reasoning, as vLLM, Groq and OpenRouter do.
	ChatReasoning = "reasoning"
	// ChatBoth has it in both members.
	ChatBoth = "both"
	// ChatThink has it in the content, between <think> and </think>: a server without a reasoning parser.
	ChatThink = "think"
	// ChatOpened is like ChatThink, with a template that ends in the first <think>, so that answers begin without it.
	ChatOpened = "opened"
	// ChatMarker has it in the content, before [server.Options.ChatMarker].
	ChatMarker = "marker"
	// ChatHarmony has all the answer in the content, as the model writes it: a server without any parser.
	ChatHarmony = "harmony"
)

// ChatForms returns the values of [server.Options.ChatForm], the default first.
func ChatForms() []string {
	return []string{ChatReasoningContent, ChatReasoning, ChatBoth, ChatThink, ChatOpened, ChatMarker, ChatHarmony}
}

func (chat) Path() string { return chatPath }

func (k chat) Page(s *server.Server, path string) *server.Page {
	switch path {
	case "/tokenize":
		return tokenizePage(s)
	case "/detokenize":
		return detokenizePage(s)
	}
	return k.Protocol.Page(s, path)
}

func (chat) AnswerID(h http.Header, c *server.Completion) string {
	return "chatcmpl-" + server.RequestID(h, c.RequestID)
}
