package sim

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

// protocolOf returns the protocol that the options name.
func protocolOf(o Options) protocol {
	switch o.Kind {
	case VLLM, "":
		if o.FrontEnd == RustFrontEnd {
			return newRustVLLM()
		}
		return newVLLM()
	case VLLMGenerate:
		return newVLLMGenerate()
	case VLLMLegacy:
		return newVLLMLegacy()
	case SGLang:
		return newSGLang()
	case SGLangCompletions:
		return newSGLangCompletions()
	case TRTLLM:
		return newTRTLLM()
	case Ollama:
		return newOllama()
	case Text:
		return newText()
	case LlamaCPP:
		return newLlamaCPP()
	case Chat:
		return newChat()
	}
	panic("sim: no kind of server has the name " + o.Kind)
}

// Kinds returns the values of [Options.Kind], the default first.
func Kinds() []string {
	return []string{VLLM, VLLMGenerate, VLLMLegacy, SGLang, SGLangCompletions, TRTLLM, LlamaCPP, Ollama, Text, Chat}
}

// New returns a server that does not listen yet: call [Server.Start], or serve its [Server.Handler].
func New(o Options) *Server { return newServer(o, protocolOf(o)) }
