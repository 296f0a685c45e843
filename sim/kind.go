package sim

import (
	"io"
	"net/http"
)

// The kinds of servers, as values of [Options.Kind].
const (
	// VLLM speaks vLLM's /v1/completions.
	VLLM = "vllm"
	// VLLMGenerate speaks vLLM's /inference/v1/generate.
	VLLMGenerate = "vllm-generate"
	// VLLMLegacy speaks the /v1/completions of a vLLM before 0.10.2.
	VLLMLegacy = "vllm-legacy"
	// SGLang speaks SGLang's /generate.
	SGLang = "sglang"
	// SGLangCompletions speaks SGLang's /v1/completions.
	SGLangCompletions = "sglang-completions"
	// TRTLLM speaks the /v1/completions of TensorRT-LLM's trtllm-serve.
	TRTLLM = "trtllm"
	// Ollama speaks Ollama's /api/generate.
	Ollama = "ollama"
	// Text speaks OpenAI's /v1/completions, with text in both directions.
	Text = "text"
	// LlamaCPP speaks llama.cpp's /completion.
	LlamaCPP = "llamacpp"
	// Chat speaks vLLM's /v1/chat/completions.
	Chat = "chat"
)

// protocol is what differs between kinds of servers: their paths, their requests, and the bytes of their answers. All
// kinds share the model, scripts, faults, pace and records.
type protocol interface {
	// path returns the path of completions, and methods its methods.
	path() string
	methods() []string
	// page returns what serves another path, or nil if the kind does not have that path.
	page(s *Server, path string) *page
	// guarded reports whether a path requires [Options.APIKey].
	guarded(path string) bool
	// decode reads and checks a request for a completion. Beside a refusal it returns the completion if it could be read.
	decode(s *Server, h http.Header, body []byte) (*completion, *refusal)
	// answerID returns the id of the answer to a request.
	answerID(h http.Header, c *completion) string

	// refusal returns the body of a response that is an error. errorEvent returns an error within a stream.
	refusal(r *refusal) []byte
	errorEvent(r *refusal) []byte
	// streamsRefusals reports whether the refusal of a request for a stream is the only event of a stream.
	streamsRefusals() bool
	// streamType returns the content type of streams.
	streamType() string
	// leading returns what a stream begins with, before the first token.
	leading(j *job) []byte
	// event returns the event with the tokens from..to of a choice.
	event(j *job, index, from, to int) []byte
	// trailing returns what comes after the last token, and terminator what ends a stream after it or after an error.
	trailing(j *job) []byte
	terminator() []byte
	// singleUse reports whether the server closes the connection of a stream when it is used again.
	singleUse() bool
	// whole returns an answer that is not streamed.
	whole(j *job) []byte
	// metrics writes the Prometheus text of /metrics.
	metrics(w io.Writer, m *metrics, model string, capacity int)
}

// page is a path other than that of completions.
type page struct {
	methods []string
	serve   func(w http.ResponseWriter, rec *Request)
}

// protocolOf returns the protocol that the options name.
func protocolOf(o Options) protocol {
	switch o.Kind {
	case VLLM:
		if o.FrontEnd == RustFrontEnd {
			return rustVLLM{}
		}
		return vllm{}
	case VLLMGenerate:
		return vllmGenerate{}
	case VLLMLegacy:
		return vllmLegacy{}
	case SGLang:
		return sglang{}
	case SGLangCompletions:
		return sglangCompletions{}
	case TRTLLM:
		return trtllm{}
	case Ollama:
		return ollama{}
	case Text:
		return text{}
	case LlamaCPP:
		return llamacpp{}
	case Chat:
		return chat{}
	}
	panic("sim: no kind of server has the name " + o.Kind)
}

// Kinds returns the values of [Options.Kind], the default first.
func Kinds() []string {
	return []string{VLLM, VLLMGenerate, VLLMLegacy, SGLang, SGLangCompletions, TRTLLM, LlamaCPP, Ollama, Text, Chat}
}
