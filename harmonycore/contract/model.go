package contract

// Model is one Harmony model, as the filter has it.
type Model struct {
	// Name is what clients ask for.
	Name string
	// Pool is the value of [PoolHeader] that routes to the model's servers.
	Pool string
	// Server is the kind of inference server, which decides path and wire format: one of [ServerKinds].
	Server string
	// ServerModel is the name that the servers know the model by.
	ServerModel string
	ModelSettings
}

// ModelSettings are the settings of a model that an operator's file and the filter's JSON have in common.
type ModelSettings struct {
	// ContextLength is the model's whole context in tokens; 0 is the default.
	ContextLength int `yaml:"context_length"`
	// MaxReasoningTokens limits the reasoning of every answer; 0 is no limit. A client can only ask for less.
	MaxReasoningTokens int `yaml:"max_reasoning_tokens"`
	// ThinkingTokenBudget reports whether the servers know thinking_token_budget and hold the limit themselves.
	ThinkingTokenBudget bool `yaml:"thinking_token_budget"`
	// DrainTokens is how many tokens more a server may generate for a Chat stream that has ended before it, at a stop
	// sequence or at the limit on reasoning. After them the stream is cut, which clients that read on take for an error.
	// Absent: the filter's default.
	DrainTokens int `yaml:"drain_tokens"`
	// StructuredOutputs is "structural_tag" or "none": how the servers are made to keep to a form of the answer. Empty:
	// structural_tag.
	StructuredOutputs string `yaml:"structured_outputs"`
	// RawPrompts is "deny" or "allow": whether clients may send prompts of their own making. Empty: deny.
	RawPrompts string `yaml:"raw_prompts"`
	// ReasoningEfforts says what becomes of the efforts that the API has and gpt-oss has not.
	ReasoningEfforts Efforts `yaml:"reasoning_efforts"`
	// DropCommentaryFromHistory leaves what the assistant once said on the way to a call out of the prompt.
	DropCommentaryFromHistory bool `yaml:"drop_commentary_from_history"`
	// UnsupportedContent is "refuse" or "drop": what becomes of images, files and sound in a request. Empty: refuse.
	UnsupportedContent string `yaml:"unsupported_content"`
	// ServerExtras are the servers' own parameters that clients may use. Absent: the default ones; empty: none.
	ServerExtras []string `yaml:"server_extras"`
	Answers      Answers  `yaml:"answers"`
	System       System   `yaml:"system"`
}

// Efforts are each "low", "medium", "high" or "refuse". Empty: the default.
type Efforts struct {
	None    string `yaml:"none"`
	Minimal string `yaml:"minimal"`
	XHigh   string `yaml:"xhigh"`
	Max     string `yaml:"max"`
}

// Answers says how the answers of a model are shaped. What is absent has the filter's default.
type Answers struct {
	// ReasoningFields is "both", "reasoning", "reasoning_content" or "none": under which names Chat answers carry
	// reasoning.
	ReasoningFields string `yaml:"reasoning_fields"`
	// HideReasoning shows no client any reasoning. In Responses it still travels sealed, where there are keys.
	HideReasoning bool `yaml:"hide_reasoning"`
	// ReasoningAsSummary sends all of the reasoning as its summary to Responses clients that ask for one.
	ReasoningAsSummary bool `yaml:"reasoning_as_summary"`
	// UndeclaredCalls is "reasoning" or "content": what a call to something that the client has not declared is shown as.
	UndeclaredCalls string `yaml:"undeclared_calls"`
	// MaxChoices is the largest n of a Chat request; 0 is the default.
	MaxChoices int `yaml:"max_choices"`
	// Strict ends every answer at the first thing that the reference implementation would refuse.
	Strict bool `yaml:"strict"`
	// Events is "chunks" or "channels": the form of Chat's streams where the client names none.
	Events string `yaml:"events"`
	// RequireFinalChannel makes an answer without a final message or a call a failure.
	RequireFinalChannel bool `yaml:"require_final_channel"`
	// HarmonyMessages lets Responses clients ask for the messages that the model has read and written.
	HarmonyMessages bool `yaml:"harmony_messages"`
}

// System is what the model's system message says. A field that is absent has the default of gpt-oss; an Identity or
// KnowledgeCutoff that is there and empty is left out of the message.
type System struct {
	Identity        string `yaml:"identity"`
	KnowledgeCutoff string `yaml:"knowledge_cutoff"`
	// Date is "utc", "omit" or a day as YYYY-MM-DD.
	Date string `yaml:"date"`
	// Effort is "low", "medium" or "high".
	Effort string `yaml:"effort"`
}

// DefaultModel returns a model called name with every default in place.
func DefaultModel(name string) Model {
	m := Model{Name: name}
	SetDefaults(m.Fields())
	return m
}

// Fields returns the settings of a model, in the order in which the filter's JSON has them.
func (m *Model) Fields() []Field {
	own := []Field{
		text("name", &m.Name, m.Name).required(),
		text("pool", &m.Pool, m.Name),
		word("server", &m.Server, VLLM, ServerKinds()...),
		text("server_model", &m.ServerModel, m.Name),
	}
	return append(own, m.ModelSettings.Fields()...)
}

// Fields returns the settings.
func (m *ModelSettings) Fields() []Field {
	return []Field{
		number("context_length", &m.ContextLength, DefaultContextLength, 1, MaxContextLength).
			advise("is out of range; write the model's whole context in tokens, such as 131072"),
		number("max_reasoning_tokens", &m.MaxReasoningTokens, 0, 0, MaxContextLength).
			advise("is out of range; write how many tokens an answer may reason for, or 0 for no limit"),
		flag("thinking_token_budget", &m.ThinkingTokenBudget, false),
		number("drain_tokens", &m.DrainTokens, 4096, 0, MaxContextLength).
			advise("is out of range; write how many tokens a server may go on for, or 0 for none"),
		word("structured_outputs", &m.StructuredOutputs, StructuralTags, StructuralTags, NoStructure),
		word("raw_prompts", &m.RawPrompts, RawPromptsDeny, RawPromptsDeny, RawPromptsAllow),
		block("reasoning_efforts", m.ReasoningEfforts.Fields()),
		flag("drop_commentary_from_history", &m.DropCommentaryFromHistory, false),
		word("unsupported_content", &m.UnsupportedContent, ContentRefuse, ContentRefuse, ContentDrop),
		list("server_extras", &m.ServerExtras, DefaultExtras(), KnownExtras()),
		block("answers", m.Answers.Fields()),
		block("system", m.System.Fields()),
	}
}

// Fields returns the settings.
func (e *Efforts) Fields() []Field {
	words := []string{EffortLow, EffortMedium, EffortHigh, EffortRefuse}
	return []Field{
		word("none", &e.None, EffortRefuse, words...),
		word("minimal", &e.Minimal, EffortLow, words...),
		word("xhigh", &e.XHigh, EffortHigh, words...),
		word("max", &e.Max, EffortHigh, words...),
	}
}

// Fields returns the settings.
func (a *Answers) Fields() []Field {
	return []Field{
		word("reasoning_fields", &a.ReasoningFields, ReasoningBoth,
			ReasoningBoth, ReasoningOnly, ReasoningContentOnly, ReasoningNone),
		flag("hide_reasoning", &a.HideReasoning, false),
		flag("reasoning_as_summary", &a.ReasoningAsSummary, false),
		word("undeclared_calls", &a.UndeclaredCalls, CallsAsReasoning, CallsAsReasoning, CallsAsContent),
		number("max_choices", &a.MaxChoices, MaxChoices, 1, MaxChoices),
		flag("strict", &a.Strict, false),
		word("events", &a.Events, EventsChunks, EventsChunks, EventsChannels),
		flag("require_final_channel", &a.RequireFinalChannel, false),
		flag("harmony_messages", &a.HarmonyMessages, false),
	}
}

// Fields returns the settings.
func (s *System) Fields() []Field {
	date := text("date", &s.Date, DateUTC).advise("is not a date; write utc, omit or a day as YYYY-MM-DD")
	date.Valid, date.Must = validDate, `must be "utc", "omit" or a day as YYYY-MM-DD`
	return []Field{
		text("identity", &s.Identity, "You are ChatGPT, a large language model trained by OpenAI."),
		text("knowledge_cutoff", &s.KnowledgeCutoff, "2024-06"),
		date,
		word("effort", &s.Effort, EffortMedium, EffortLow, EffortMedium, EffortHigh),
	}
}
