package backend

// Request is one completion to ask of a server.
type Request struct {
	// Model is the name that the server knows the model by.
	Model string
	// Prompt is the rendered conversation, in token ids, or what of it comes after Known.
	Prompt []uint32
	// Known appends the ids that the prompt begins with, in decimal digits, each with a comma behind it. They take
	// KnownSize bytes. It is nil if there are none. Not every kind asks for it ([contract.Kind.TextPrompts]).
	Known     func(dst []byte) []byte
	KnownSize int
	// PromptAt is where the ids of Prompt begin in what AppendRequest has appended to an empty slice. AppendRequest sets
	// it.
	PromptAt int
	// Ends are places in Prompt, in order. AppendRequest replaces each by the size of the ids before it, as they were
	// written, with a comma behind each.
	Ends []int
	// PromptText is the prompt as text, with control tokens spelled. Only a kind that takes text gets it.
	PromptText []byte
	// Conversation appends the members of a request that say what is asked, such as messages and tools, each as
	// ,"name":value. Only a kind that takes conversations gets it, and no prompt. It is no slice, because a conversation
	// may be as large as a client's body: so it is written once.
	Conversation func(dst []byte) []byte
	// MaxTokens is the maximum number of tokens to generate. It is always sent: the defaults of servers are tiny. Only a
	// kind that takes conversations may get 0, which is not sent.
	MaxTokens int
	// Choices is the number of completions to generate; 0 means one.
	Choices int
	// Logprobs asks for the logprob of each token, and of the TopLogprobs likeliest tokens in its place.
	Logprobs    bool
	TopLogprobs int
	// StopTokens end the generation.
	StopTokens []uint32
	Sampling   Sampling
	// ThinkingBudget is the maximum number of reasoning tokens, which the server enforces. Nil is not sent.
	ThinkingBudget *int
	// StructuralTag constrains the answer; a [Tag] writes it. For kinds with [contract.Kind.Grammars] it is a
	// grammar of llama.cpp. Empty means no constraint.
	StructuralTag []byte
	// TokenIDs asks for the ids of the prompt and of the answer.
	TokenIDs bool
}

// Sampling holds JSON numbers as the client spelled them. An empty field is not sent, so the server's default applies.
type Sampling struct {
	Temperature, TopP, PresencePenalty, FrequencyPenalty, Seed string
	LogitBias                                                  []Bias
	// Extras are the engines' own parameters. They are sent unchanged.
	Extras []Member
}

// Bias is a token and the JSON number that is added to its logit.
type Bias struct {
	Token uint32
	Value string
}

// Member is a member of a JSON object. JSON is its value, as JSON text.
type Member struct{ Name, JSON string }
