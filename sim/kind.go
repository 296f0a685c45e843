package sim

import (
	"github.com/harmonyedge/harmonyedge/sim/llamacpp"
	"github.com/harmonyedge/harmonyedge/sim/ollama"
	"github.com/harmonyedge/harmonyedge/sim/openai"
	"github.com/harmonyedge/harmonyedge/sim/server"
	"github.com/harmonyedge/harmonyedge/sim/sglang"
	"github.com/harmonyedge/harmonyedge/sim/trtllm"
	"github.com/harmonyedge/harmonyedge/sim/vllm"
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
	// VLLMRender renders conversations, and speaks vLLM's /inference/v1/generate with text in its answers.
	VLLMRender = "vllm-render"
	// Chat speaks vLLM's /v1/chat/completions.
	Chat = "chat"
)

// protocolOf returns the protocol that the options name.
func protocolOf(o Options) server.Protocol {
	switch o.Kind {
	case VLLM, "":
		if o.FrontEnd == server.RustFrontEnd {
			return vllm.Rust()
		}
		return vllm.Completions()
	case VLLMGenerate:
		return vllm.Generate()
	case VLLMLegacy:
		return vllm.Legacy()
	case SGLang:
		return sglang.Generate()
	case SGLangCompletions:
		return sglang.Completions()
	case TRTLLM:
		return trtllm.Completions()
	case Ollama:
		return ollama.Generate()
	case Text:
		return openai.Text()
	case LlamaCPP:
		return llamacpp.Completion()
	case VLLMRender:
		return openai.Render()
	case Chat:
		return openai.Chat()
	}
	panic("sim: no kind of server has the name " + o.Kind)
}

// Kinds returns the values of [Options.Kind], the default first.
func Kinds() []string {
	return []string{VLLM, VLLMGenerate, VLLMLegacy, SGLang, SGLangCompletions, TRTLLM, LlamaCPP, Ollama, Text, Chat,
		VLLMRender}
}

// New returns a server that does not listen yet: call [Server.Start], or serve its [Server.Handler].
func New(o Options) *Server { return server.New(o, protocolOf(o)) }
