package contract

import "cmp"

// Kind holds the facts about a kind of inference server that the operator's file, the control plane and the filter
// share. How such a server is asked, and how its answers are read, is the business of package backend.
type Kind struct {
	// Name is the kind's name in configurations, errors and logs.
	Name string
	// Path is the path of completion requests.
	Path string
	// OtherPaths are the other paths on which such servers take prompts or conversations.
	OtherPaths []string
	// OwnAPI are the paths of this API that such servers serve themselves, for requests that are not translated
	// (docs/opt-in.md).
	OwnAPI []string
	// MediaType is the media type of answers. Empty: text/event-stream.
	MediaType string
	// Health is the path that a server answers with 200 while it is healthy. It is empty if not all servers of the kind
	// have the same one, or answer it without a key: their health is then not checked unless the operator names a path.
	Health string
	// PrivateHeader is the name of a request header, in lower case, by which clients could reach into a server. Servers do
	// not get it from clients. It is empty if there is none.
	PrivateHeader string
	Capabilities
	// SingleUse reports whether a connection cannot be used again after a stream. It comes after the capabilities, for the
	// sake of their bytes.
	SingleUse bool
	// Grammars reports whether servers can hold an answer to a grammar of llama.cpp, which the gateway makes where others
	// get a structural tag.
	Grammars bool
	// Prefill is [PrefillParams], [PrefillBootstrap], or empty: how one server reads a prompt for another.
	Prefill string
}

// Capabilities are what servers of a kind can do. docs/servers.md has what clients lose without each.
//
// Every fourth byte stays 0: four bytes of which the last is 1 would look like an address to the filter's collector
// (RATIONALE.md#71).
type Capabilities struct {
	// TextPrompts reports whether prompts are sent as text, with control tokens spelled, rather than in token ids.
	TextPrompts bool
	// TextAnswers reports whether answers come as text rather than in token ids.
	TextAnswers bool
	// ControlTokens reports whether control tokens in answers come as ids, and the number of tokens with the text between
	// them. A spelling of a control token is then text.
	ControlTokens bool
	_             bool
	// Choices reports whether one request can ask for several answers.
	Choices bool
	// Logprobs reports whether servers send the logprob of each token.
	Logprobs bool
	// StopTokens reports whether a request can name token ids that end the answer.
	StopTokens bool
	_          bool
	// StructuralTags reports whether servers can hold an answer to a structural tag.
	StructuralTags bool
	// ThinkingBudget reports whether servers can limit reasoning themselves.
	ThinkingBudget bool
	// Scheduling reports whether a request can have a cache_salt, and a priority that is a whole number. Which numbers
	// come first differs (docs/sglang.md).
	Scheduling bool
	_          bool
	// MinTokens reports whether a request can have min_tokens, the least number of tokens of an answer.
	MinTokens bool
	// Biases reports whether a request can make tokens likelier or less likely.
	Biases bool
	// Conversations reports whether a request holds a conversation, which the servers render themselves.
	Conversations bool
	_             bool
	// Renders reports whether a conversation is rendered by a call before the request is sent, which then has token ids.
	// Answers come as text with the ids of its tokens. Such kinds have Conversations too.
	Renders bool
}

// HoldsForms reports whether servers can hold an answer to a form.
func (k *Kind) HoldsForms() bool { return k.StructuralTags || k.Grammars }

// TokenIDs reports whether token ids are sent or returned, so that the servers' vocabulary must be the gateway's.
func (c *Capabilities) TokenIDs() bool {
	return !c.Conversations && (!c.TextPrompts || !c.TextAnswers)
}

// TracesTokens reports whether servers can say of each token of an answer which one it is and how likely it was.
// Servers that take conversations may or may not.
func (c *Capabilities) TracesTokens() bool {
	return c.Logprobs && (!c.TextAnswers || c.Conversations)
}

// EstimatesTokens reports whether the gateway can only estimate how many tokens an answer has.
func (c *Capabilities) EstimatesTokens() bool { return c.TextAnswers && !c.ControlTokens && !c.Renders }

// The names of the kinds of servers.
const (
	// VLLM speaks vLLM's /v1/completions in token ids.
	VLLM = "vllm"
	// VLLMGenerate speaks vLLM's /inference/v1/generate, which has no text at all.
	VLLMGenerate = "vllm-generate"
	// VLLMLegacy speaks the /v1/completions of a vLLM before 0.10.2, in token ids that it names beside logprobs.
	VLLMLegacy = "vllm-legacy"
	// SGLang speaks SGLang's /generate in token ids.
	SGLang = "sglang"
	// SGLangCompletions speaks SGLang's /v1/completions in token ids.
	SGLangCompletions = "sglang-completions"
	// TRTLLM speaks the /v1/completions of TensorRT-LLM's trtllm-serve in token ids.
	TRTLLM = "trtllm"
	// LlamaCPP speaks llama.cpp's /completion: token ids in, text with the ids of control tokens out.
	LlamaCPP = "llamacpp"
	// Ollama speaks Ollama's /api/generate, with text in both directions.
	Ollama = "ollama"
	// Text speaks OpenAI's /v1/completions, with text in both directions.
	Text = "text"
	// Chat speaks OpenAI's /v1/chat/completions. The models need not be Harmony models.
	Chat = "chat"
	// VLLMRender is any model of a vLLM that renders conversations at /v1/chat/completions/render, and takes their ids at
	// /inference/v1/generate.
	VLLMRender = "vllm-render"
)

// conversationHeader makes llama.cpp's server go on with an answer whose client has left, and lets anyone who knows its
// value read the answer.
const conversationHeader = "x-conversation-id"

// bothAPIs are the paths of servers that have both of OpenAI's APIs themselves, and allAPIs those of servers that have
// Anthropic's too.
var (
	bothAPIs = []string{ChatPath, ResponsesPath}
	allAPIs  = []string{ChatPath, ResponsesPath, MessagesPath}
)

// kinds are all kinds of servers, the default first. Text, Chat and VLLMRender are the last: `harmony probe` takes the
// first kind that works, and many servers of the other kinds answer in text too. Chat comes before VLLMRender, which
// must be told of the form of a model's calls.
var kinds = [...]Kind{
	{Name: VLLM, Path: CompletionsPath, Health: "/health", OwnAPI: allAPIs, Capabilities: Capabilities{
		ControlTokens: true, Choices: true, Logprobs: true, StopTokens: true, StructuralTags: true, ThinkingBudget: true,
		Scheduling: true, MinTokens: true, Biases: true,
	}, Prefill: PrefillParams},
	{Name: VLLMGenerate, Path: InferenceGeneratePath, Health: "/health", OwnAPI: allAPIs, Capabilities: Capabilities{
		ControlTokens: true, Choices: true, Logprobs: true, StopTokens: true, StructuralTags: true, ThinkingBudget: true,
		Scheduling: true, MinTokens: true, Biases: true,
	}, Prefill: PrefillParams},
	{Name: VLLMLegacy, Path: CompletionsPath, Health: "/health", OwnAPI: []string{ChatPath}, Capabilities: Capabilities{
		ControlTokens: true, Choices: true, Logprobs: true, StopTokens: true, MinTokens: true, Biases: true,
	}},
	{Name: SGLang, Path: GeneratePath, Health: "/ready", OwnAPI: allAPIs, Capabilities: Capabilities{
		ControlTokens: true, Choices: true, Logprobs: true, StopTokens: true, StructuralTags: true, ThinkingBudget: true,
		Scheduling: true, MinTokens: true, Biases: true,
	}, Prefill: PrefillBootstrap},
	{Name: SGLangCompletions, Path: CompletionsPath, Health: "/ready", OwnAPI: allAPIs, Capabilities: Capabilities{
		ControlTokens: true, Choices: true, StopTokens: true, StructuralTags: true, Scheduling: true, MinTokens: true,
		Biases: true,
	}, Prefill: PrefillBootstrap},
	{Name: TRTLLM, Path: CompletionsPath, Health: "/health", OwnAPI: bothAPIs, Capabilities: Capabilities{
		ControlTokens: true, StopTokens: true, StructuralTags: true, ThinkingBudget: true, MinTokens: true, Biases: true,
	}},
	{Name: LlamaCPP, Path: CompletionPath, Health: "/health", PrivateHeader: conversationHeader, OwnAPI: allAPIs,
		Capabilities: Capabilities{TextAnswers: true, ControlTokens: true, Choices: true, Biases: true}, SingleUse: true,
		Grammars: true},
	{Name: Ollama, Path: "/api/generate", OtherPaths: []string{OllamaChatPath}, MediaType: "application/x-ndjson",
		Health: "/", OwnAPI: allAPIs, Capabilities: Capabilities{TextPrompts: true, TextAnswers: true}},
	{Name: Text, Path: CompletionsPath, Capabilities: Capabilities{
		TextPrompts: true, TextAnswers: true, Choices: true, MinTokens: true, Biases: true,
	}},
	{Name: Chat, Path: ChatPath, OwnAPI: []string{ChatPath}, Capabilities: Capabilities{
		TextAnswers: true, Choices: true, Logprobs: true, StopTokens: true, Scheduling: true, MinTokens: true, Biases: true,
		Conversations: true,
	}},
	{Name: VLLMRender, Path: InferenceGeneratePath, Health: "/health", OwnAPI: allAPIs, Capabilities: Capabilities{
		TextAnswers: true, Choices: true, Logprobs: true, StopTokens: true, Scheduling: true, MinTokens: true, Biases: true,
		Conversations: true, Renders: true,
	}},
}

// StreamType returns the media type of answers.
func (k *Kind) StreamType() string { return cmp.Or(k.MediaType, "text/event-stream") }

// TakesAPIPath reports whether the API of such servers may have another path than [DefaultAPIPath]: others run them
// too.
func (k *Kind) TakesAPIPath() bool { return k.Conversations && !k.Renders || k.Name == Text }

// KindNamed returns the kind of server with this name, or nil if there is none.
func KindNamed(name string) *Kind {
	for i := range kinds {
		if kinds[i].Name == name {
			return &kinds[i]
		}
	}
	return nil
}

// TakesConversations reports whether servers of the kind with this name take conversations.
func TakesConversations(name string) bool {
	k := KindNamed(name)
	return k != nil && k.Conversations
}

// ServerKinds returns the names of the kinds of inference servers that the filter supports, the default first.
func ServerKinds() []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].Name
	}
	return names
}

// PromptPaths returns the paths on which servers of any kind take prompts or conversations of a client's own.
func PromptPaths() []string {
	var paths []string
	for i := range kinds {
		if !kinds[i].Conversations { // their path is the API's own
			paths = append(append(paths, kinds[i].Path), kinds[i].OtherPaths...)
		}
	}
	return paths
}

// CacheBlock returns how many tokens a block of the cache of a kind's servers has.
func CacheBlock(kind string) int {
	switch kind {
	case LlamaCPP, SGLang, SGLangCompletions:
		return 1
	}
	return vllmBlock
}

// vllmBlock is how many tokens a block of vLLM's cache has by default.
const vllmBlock = 16
