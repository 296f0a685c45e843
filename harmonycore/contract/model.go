package contract

import "strings"

// Model is one model in the filter's configuration.
type Model struct {
	// Name is the name that clients use.
	Name string
	// Pool is the value of [PoolHeader] that routes to the model's servers.
	Pool string
	// PoolName is the name that the operator has given the pool, and Policy how one of its servers is chosen, such as
	// [PolicyLeastRequest]. Both are only for metrics and logs.
	PoolName, Policy string
	// Server is the kind of inference server, one of [ServerKinds]. It determines path and wire format.
	Server string
	// ServerModel is the model's name at its servers.
	ServerModel string
	// APIPath stands in place of [DefaultAPIPath] in the paths of the model's servers, for hosted APIs such as
	// /openai/v1/chat/completions.
	APIPath string
	Routing Routing
	// ForwardAuthorization reports whether the servers get the clients' own keys. A server's 401 or 403 is then about the
	// client's key, and not about the pool's.
	ForwardAuthorization bool
	// Prefill determines which servers read the prompts.
	Prefill Prefill
	// Render determines which servers render the conversations.
	Render Render
	// Route are the rules by which requests go to further pools of the model.
	Route []Branch
	ModelSettings
}

// ModelSettings are the settings of a model that an operator's file and the filter's JSON share.
type ModelSettings struct {
	// ContextLength is the model's whole context in tokens. 0 is the default.
	ContextLength int `yaml:"context_length"`
	// MaxReasoningTokens limits the reasoning of every answer. 0 is no limit. A client can only ask for less.
	MaxReasoningTokens int `yaml:"max_reasoning_tokens"`
	// ThinkingTokenBudget reports whether the servers support thinking_token_budget and enforce the limit themselves.
	ThinkingTokenBudget bool `yaml:"thinking_token_budget"`
	// DrainTokens is how many more tokens a server may generate for a Chat stream that has ended early, at a stop sequence
	// or at the limit on reasoning. After them the stream is cut, which a client that still reads takes as an error.
	// Absent: the filter's default.
	DrainTokens int `yaml:"drain_tokens"`
	// StructuredOutputs is "structural_tag", "none" or "refuse": how the servers are held to a form of the answer, or that
	// requests for one are refused. Empty: structural_tag.
	StructuredOutputs string `yaml:"structured_outputs"`
	// ControlTokens is "refuse" or "break": what happens to text of a request that spells a control token, where the
	// servers take prompts as text, or render conversations, and would read it as that token. Empty: refuse.
	ControlTokens string `yaml:"control_tokens"`
	// ControlSpellings are the texts that the servers' tokenizer reads as control tokens, where it is another than
	// gpt-oss's. Absent: those of all families.
	ControlSpellings []string `yaml:"control_spellings"`
	// FallbackOnTimeoutMS is how long a server that answers in text may send text without a control token before the text
	// is read as an answer, in milliseconds. MinTokensBeforeFallback must have come as well. Absent: the filter's default.
	FallbackOnTimeoutMS int `yaml:"fallback_on_timeout_ms"`
	// MinTokensBeforeFallback is how many tokens of text without a control token must come from a server that answers in
	// text before the text is read as an answer. Four bytes count as a token. Absent: the filter's default.
	MinTokensBeforeFallback int `yaml:"min_tokens_before_fallback"`
	// RawPrompts is "deny" or "allow": whether clients may send prompts of their own. Empty: deny.
	RawPrompts string `yaml:"raw_prompts"`
	// ReasoningEfforts determines what happens to the efforts that the API has and gpt-oss does not have.
	ReasoningEfforts Efforts `yaml:"reasoning_efforts"`
	// DropCommentaryFromHistory leaves the assistant's earlier preambles to calls out of the prompt.
	DropCommentaryFromHistory bool `yaml:"drop_commentary_from_history"`
	// History determines how calls and results of the past are written.
	History History `yaml:"history"`
	// UnsupportedContent is "refuse" or "drop": what happens to images, files and sound in a request. Empty: refuse.
	UnsupportedContent string `yaml:"unsupported_content"`
	// ServerExtras are the servers' own parameters that clients may use. Absent: the defaults. Empty: none.
	ServerExtras []string `yaml:"server_extras"`
	// Relay is "off", "finish", "retry" or "resume": which requests for answers go through the responses service, so that
	// a server that dies in mid-answer ends no stream without an event. Empty: off.
	Relay string `yaml:"relay"`
	// Aliases are further names of the model for clients. A star stands for any text, as in "openai/*".
	Aliases []string `yaml:"aliases"`
	// OverflowModel is the name of the model that gets the requests whose prompts do not fit this one's context. Empty:
	// they are refused.
	OverflowModel string `yaml:"overflow_model"`
	// Translate is "all", a share such as "10%", or "observe": which requests are translated. All others pass untouched to
	// the API of the model's own servers. With "observe" none is, and the gateway only counts (docs/opt-in.md).
	Translate string `yaml:"translate"`
	// Speaks is "auto", "harmony", "chat", "marker", a form of calls such as "hermes", or the name of an adapter that
	// begins with "x-": what the text of the model's answers is (docs/structure.md). Empty: auto.
	Speaks string `yaml:"speaks"`
	// Marker is the text after which the answer begins, for a model that speaks marker. Empty: ===FINAL===. A model that
	// speaks harmony may have one too: text that turns out not to be Harmony is then read so.
	Marker string `yaml:"marker"`
	// ExtraBody is an object with members that requests to the model's servers have unless the client sends its own:
	// defaults of sampling, and parameters of the servers.
	ExtraBody Object `yaml:"extra_body"`
	// SamplingOverrides is an object with parameters of sampling that requests to the model's servers have in place of the
	// client's own.
	SamplingOverrides Object `yaml:"sampling_overrides"`
	// Chat is for servers that take conversations.
	Chat       ChatServers `yaml:"chat"`
	Answers    Answers     `yaml:"answers"`
	System     System      `yaml:"system"`
	Repetition Repetition  `yaml:"repetition_detection"`
}

// Efforts are each "low", "medium", "high" or "refuse". Empty: the default.
type Efforts struct {
	None    string `yaml:"none"`
	Minimal string `yaml:"minimal"`
	XHigh   string `yaml:"xhigh"`
	Max     string `yaml:"max"`
}

// History is about the calls and results in a conversation. Each is "sampled" or "template": in the form in which the
// model writes it, the recipient behind the channel, or in that of the model's chat template. Empty: the default.
type History struct {
	Calls   string `yaml:"calls"`
	Results string `yaml:"results"`
}

// Repetition determines when a model says the same again and again, and what happens to its answer then. The newest
// tokens are a repetition if they are MinCount or more copies of a pattern of at most MaxPatternSize tokens, and
// MinTokens or more in all. So are MinTokens of white space, dots and ellipses, in any order.
type Repetition struct {
	// Reasoning and Text are each "off" or "end": whether a repetition in reasoning, or in text and calls, ends the answer.
	// Reasoning may also be "final": the reasoning is closed, and the model is asked for its answer, once. That needs a
	// service that has a server go on, and other answers end. Empty: off.
	Reasoning string `yaml:"reasoning"`
	Text      string `yaml:"text"`
	// MaxPatternSize, MinCount and MinTokens are counts. Absent: the defaults.
	MaxPatternSize int `yaml:"max_pattern_size"`
	MinCount       int `yaml:"min_count"`
	MinTokens      int `yaml:"min_tokens"`
}

// Answers determines the form of a model's answers. An absent setting has the filter's default.
type Answers struct {
	// ReasoningFields is "both", "reasoning", "reasoning_content" or "none": the fields in which Chat answers carry
	// reasoning.
	ReasoningFields string `yaml:"reasoning_fields"`
	// HideReasoning sends no reasoning to clients. In Responses it is still sent sealed, if there are keys.
	HideReasoning bool `yaml:"hide_reasoning"`
	// ReasoningAsSummary sends the whole reasoning as its summary to Responses clients that ask for one.
	ReasoningAsSummary bool `yaml:"reasoning_as_summary"`
	// ReasoningSummary is "asked" or "always": which Responses clients get the whole reasoning as its summary and not as
	// content. With "asked" ReasoningAsSummary decides.
	ReasoningSummary string `yaml:"reasoning_summary"`
	// UndeclaredCalls is "reasoning", "content" or "call": as what a call is shown to something that the client has not
	// declared. Only calls of functions can be shown as calls.
	UndeclaredCalls string `yaml:"undeclared_calls"`
	// MaxChoices is the largest n of a Chat request. 0 is the default.
	MaxChoices int `yaml:"max_choices"`
	// Strict ends every answer at the first error that the reference implementation would report.
	Strict bool `yaml:"strict"`
	// Events is "chunks" or "channels": the form of Chat streams if the client does not choose one.
	Events string `yaml:"events"`
	// RequireFinalChannel makes an answer with neither a final message nor a call a failure.
	RequireFinalChannel bool `yaml:"require_final_channel"`
	// HarmonyMessages lets Responses clients ask for the messages that the model has read and written.
	HarmonyMessages bool `yaml:"harmony_messages"`
	// TokenIDs gives clients the ids of the prompt and of the answer, and the logprobs of the answer (docs/token-ids.md).
	TokenIDs bool `yaml:"token_ids"`
	// ContextError is "error" or "empty_length": the answer to a conversation that is too long for the model.
	ContextError string `yaml:"context_error"`
}

// System is the content of the model's system message. An absent field has gpt-oss's default. An Identity or
// KnowledgeCutoff that is present and empty is left out of the message.
type System struct {
	Identity        string `yaml:"identity"`
	KnowledgeCutoff string `yaml:"knowledge_cutoff"`
	// Date is "utc", "omit" or a day as YYYY-MM-DD.
	Date string `yaml:"date"`
	// Effort is "low", "medium" or "high".
	Effort string `yaml:"effort"`
}

// DefaultModel returns a model with this name and all defaults.
func DefaultModel(name string) Model {
	m := Model{Name: name}
	SetDefaults(m.Fields())
	return m
}

// Fields returns the settings of a model, in the order of the filter's JSON.
func (m *Model) Fields() []Field {
	prefill := block("prefill", m.Prefill.Fields())
	prefill.Optional = true
	render := block("render", m.Render.Fields())
	render.Optional = true
	own := []Field{
		text("name", &m.Name, m.Name).required(),
		text("pool", &m.Pool, m.Name),
		text("pool_name", &m.PoolName, m.Name),
		valid(text("policy", &m.Policy, PolicyLeastRequest), validPolicy,
			"must be 1 to 32 lower-case letters and underscores"),
		word("server", &m.Server, VLLM, ServerKinds()...),
		text("server_model", &m.ServerModel, m.Name),
		apiPath(&m.APIPath),
		block("routing", m.Routing.Fields()),
		flag("forward_authorization", &m.ForwardAuthorization, false),
		prefill,
		render,
		route(&m.Route),
	}
	return append(own, m.ModelSettings.Fields()...)
}

// validPolicy reports whether a text may be the name of a policy. A filter takes those that it does not know, too.
func validPolicy(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= 32
}

func apiPath(at *string) Field {
	return valid(text("api_path", at, DefaultAPIPath), ValidAPIPath,
		"must be a path without a slash at its end, such as /openai/v1")
}

// Fields returns the settings of the block.
func (m *ModelSettings) Fields() []Field {
	return []Field{
		number("context_length", &m.ContextLength, DefaultContextLength, 1, MaxContextLength).
			advise("is out of range; write the model's whole context in tokens, such as 131072"),
		number("max_reasoning_tokens", &m.MaxReasoningTokens, 0, 0, MaxContextLength).
			advise("is out of range; write how many tokens an answer may reason for, or 0 for no limit"),
		flag("thinking_token_budget", &m.ThinkingTokenBudget, false),
		number("drain_tokens", &m.DrainTokens, 4096, 0, MaxContextLength).
			advise("is out of range; write how many tokens a server may go on for, or 0 for none"),
		word("structured_outputs", &m.StructuredOutputs, StructuralTags, StructuralTags, NoStructure,
			RefuseStructure),
		word("control_tokens", &m.ControlTokens, ControlTokensRefuse, ControlTokensRefuse, ControlTokensBreak),
		texts("control_spellings", &m.ControlSpellings, ValidSpelling, "must be 2 to 64 bytes without space, \" and \\").
			advise("is not the spelling of a token; write one such as <|im_end|>, of 2 to 64 bytes"),
		number("fallback_on_timeout_ms", &m.FallbackOnTimeoutMS, DefaultFallbackMS, 0, MaxFallbackMS).
			advise("is out of range; write how many milliseconds a server may write text without a control token"),
		number("min_tokens_before_fallback", &m.MinTokensBeforeFallback, DefaultFallbackTokens, 0, MaxFallbackTokens).
			advise("is out of range; write how many tokens of text without a control token are waited for"),
		word("raw_prompts", &m.RawPrompts, RawPromptsDeny, RawPromptsDeny, RawPromptsAllow),
		block("reasoning_efforts", m.ReasoningEfforts.Fields()),
		flag("drop_commentary_from_history", &m.DropCommentaryFromHistory, false),
		block("history", m.History.Fields()),
		word("unsupported_content", &m.UnsupportedContent, ContentRefuse, ContentRefuse, ContentDrop),
		list("server_extras", &m.ServerExtras, DefaultExtras(), KnownExtras()),
		word("relay", &m.Relay, RelayOff, RelayOff, RelayFinish, RelayRetry, RelayResume),
		texts("aliases", &m.Aliases, validAlias, "must be printable ASCII without spaces, with one star at most").
			advise("is not a name; write one such as openai/gpt-oss-120b, or one with a *, such as openai/*"),
		text("overflow_model", &m.OverflowModel, ""),
		valid(text("translate", &m.Translate, TranslateAll), validShare,
			`must be "all", a share such as "10%", or "observe"`).
			advise(`is not known; write all, a share such as 10%, or observe`),
		valid(text("speaks", &m.Speaks, SpeaksAuto), validSpeaks,
			`must be "auto", "harmony", "chat", "marker", a form of calls such as "hermes", or begin with "x-"`).
			advise("is not known; write auto, harmony, chat, marker, " + strings.Join(CallForms(), ", ") +
				", or x- and the name of an adapter"),
		valid(text("marker", &m.Marker, ""), validMarker,
			"must be a text of at most 64 bytes without space at its ends").
			advise("is not a marker; write a text of at most 64 bytes without space at its ends, such as " + DefaultMarker),
		object("extra_body", &m.ExtraBody),
		object("sampling_overrides", &m.SamplingOverrides),
		block("chat", m.Chat.Fields()),
		block("answers", m.Answers.Fields()),
		block("system", m.System.Fields()),
		block("repetition_detection", m.Repetition.Fields()),
	}
}

// The values of [Repetition.Reasoning] and [Repetition.Text]. RepetitionFinal is for Reasoning.
const (
	RepetitionOff   = "off"
	RepetitionEnd   = "end"
	RepetitionFinal = "final"
)

// The limits of [Repetition]: a choice of an answer keeps 8 bytes for each token of the longest one that it can find.
const (
	maxPatternSize      = 256
	maxRepetitionCount  = 16
	maxRepetitionTokens = 4096
)

// Fields returns the settings of the block.
func (r *Repetition) Fields() []Field {
	return []Field{
		word("reasoning", &r.Reasoning, RepetitionOff, RepetitionOff, RepetitionEnd, RepetitionFinal),
		word("text", &r.Text, RepetitionOff, RepetitionOff, RepetitionEnd),
		number("max_pattern_size", &r.MaxPatternSize, 128, 1, maxPatternSize).
			advise("is out of range; write how many tokens a pattern has at most, such as 128"),
		number("min_count", &r.MinCount, 4, 2, maxRepetitionCount).
			advise("is out of range; write how often a pattern must come, such as 4"),
		number("min_tokens", &r.MinTokens, 96, 16, maxRepetitionTokens).
			advise("is out of range; write how many tokens a repetition has at least, such as 96"),
	}
}

// Fields returns the settings of the block.
func (e *Efforts) Fields() []Field {
	words := []string{EffortLow, EffortMedium, EffortHigh, EffortRefuse}
	return []Field{
		word("none", &e.None, EffortRefuse, words...),
		word("minimal", &e.Minimal, EffortLow, words...),
		word("xhigh", &e.XHigh, EffortHigh, words...),
		word("max", &e.Max, EffortHigh, words...),
	}
}

// Fields returns the settings of the block.
func (h *History) Fields() []Field {
	return []Field{
		word("calls", &h.Calls, HistorySampled, HistorySampled, HistoryTemplate),
		word("results", &h.Results, HistoryTemplate, HistorySampled, HistoryTemplate),
	}
}

// Fields returns the settings of the block.
func (a *Answers) Fields() []Field {
	return []Field{
		word("reasoning_fields", &a.ReasoningFields, ReasoningBoth,
			ReasoningBoth, ReasoningOnly, ReasoningContentOnly, ReasoningNone),
		flag("hide_reasoning", &a.HideReasoning, false),
		flag("reasoning_as_summary", &a.ReasoningAsSummary, false),
		word("reasoning_summary", &a.ReasoningSummary, SummaryAsked, SummaryAsked, SummaryAlways),
		word("undeclared_calls", &a.UndeclaredCalls, CallsAsReasoning, CallsAsReasoning, CallsAsContent,
			CallsAsCalls),
		number("max_choices", &a.MaxChoices, MaxChoices, 1, MaxChoices),
		flag("strict", &a.Strict, false),
		word("events", &a.Events, EventsChunks, EventsChunks, EventsChannels),
		flag("require_final_channel", &a.RequireFinalChannel, false),
		flag("harmony_messages", &a.HarmonyMessages, false),
		flag("token_ids", &a.TokenIDs, false),
		word("context_error", &a.ContextError, ContextErrorError, ContextErrorError, ContextEmptyLength),
	}
}

// Fields returns the settings of the block.
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
