package contract

// Kind holds the facts about a kind of inference server that the operator's file, the control plane and the filter
// share. How such a server is asked, and how its answers are read, is the business of package backend.
type Kind struct {
	// Name is the kind's name in configurations, errors and logs.
	Name string
	// Path is the path of completion requests.
	Path string
	// Health is the path that a server answers with 200 while it is healthy.
	Health string
}

// The names of the kinds of servers.
const (
	// VLLM speaks vLLM's /v1/completions in token ids.
	VLLM = "vllm"
	// VLLMGenerate speaks vLLM's /inference/v1/generate, which has no text at all.
	VLLMGenerate = "vllm-generate"
)

// kinds are all kinds of servers, the default first.
var kinds = [...]Kind{
	{Name: VLLM, Path: CompletionsPath, Health: "/health"},
	{Name: VLLMGenerate, Path: InferenceGeneratePath, Health: "/health"},
}

// KindNamed returns the kind of server with this name, or nil if there is none.
func KindNamed(name string) *Kind {
	for i := range kinds {
		if kinds[i].Name == name {
			return &kinds[i]
		}
	}
	return nil
}

// ServerKinds returns the names of the kinds of inference servers that the filter supports, the default first.
func ServerKinds() []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].Name
	}
	return names
}
