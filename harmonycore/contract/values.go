package contract

// The values of [Config.Mode]. If a proxy is not set up to let a filter hold headers, a filter that tries hangs for
// good. So the filter cannot find out the mode, and an operator configures it (docs/modes.md). [ModeReduced] requires
// exactly one model.
const (
	ModeFull    = "full"
	ModeReduced = "reduced"
)

// Values of [Model.Policy].
const (
	PolicyLeastRequest = "least_request"
	PolicyRoundRobin   = "round_robin"
	PolicySession      = "session"
	// PolicyPrefix chooses by [AffinityHeader].
	PolicyPrefix = "prefix"
	// PolicyPicker leaves the choice to an endpoint picker.
	PolicyPicker = "picker"
)

// The values of [LogRoutedBy]: what the affinity of a request was made of.
const (
	RoutedBySession  = "session"
	RoutedByCacheKey = "cache_key"
	RoutedByPrefix   = "prefix"
)

// The values of [Settings.HostedTools]: what happens to a tool that the model is not shown and no service runs.
const (
	HostedToolsIgnore = "ignore"
	HostedToolsRefuse = "refuse"
)

// The values of [ModelSettings.StructuredOutputs]: xgrammar's structural tags, which apply from the first token of an
// answer, or nothing, for servers without them, or an error for each request whose answer only a server could hold to
// its form.
const (
	StructuralTags  = "structural_tag"
	NoStructure     = "none"
	RefuseStructure = "refuse"
)

// The values of [ModelSettings.ControlTokens].
const (
	ControlTokensRefuse = "refuse"
	ControlTokensBreak  = "break"
)

// The values of [ModelSettings.RawPrompts].
const (
	RawPromptsDeny  = "deny"
	RawPromptsAllow = "allow"
)

// The values of [History.Calls] and [History.Results].
const (
	HistorySampled  = "sampled"
	HistoryTemplate = "template"
)

// The values of [ModelSettings.UnsupportedContent]: an error, or a note to the model in place of each part.
const (
	ContentRefuse = "refuse"
	ContentDrop   = "drop"
)

// The values of [ModelSettings.Relay]: no requests, streams, or all requests for responses. With the last
// two, the service asks once more if an answer is lost before the client has seen any of it. With the last one, it also
// has another server go on with an answer that was cut.
const (
	RelayOff    = "off"
	RelayFinish = "finish"
	RelayRetry  = "retry"
	RelayResume = "resume"
)

// The reasoning efforts. [EffortRefuse] is only for [Efforts]: requests for that effort are answered with an error.
const (
	EffortLow    = "low"
	EffortMedium = "medium"
	EffortHigh   = "high"
	EffortRefuse = "refuse"
)

// The values of [Answers.ReasoningFields].
const (
	ReasoningBoth        = "both"
	ReasoningOnly        = "reasoning"
	ReasoningContentOnly = "reasoning_content"
	ReasoningNone        = "none"
)

// The values of [Answers.UndeclaredCalls].
const (
	CallsAsReasoning = "reasoning"
	CallsAsContent   = "content"
	CallsAsCalls     = "call"
)

// The forms of Chat's streams, in [Answers.Events] and [EventsHeader]: the API's own chunks, or channel events
// (docs/channel-events.md).
const (
	EventsChunks   = "chunks"
	EventsChannels = "channels"
)

// The values of [System.Date] other than a fixed day: the UTC day of the host's clock, or no date.
const (
	DateUTC  = "utc"
	DateOmit = "omit"
)

// validDate reports whether s is a value of [System.Date].
func validDate(s string) bool {
	if s == DateUTC || s == DateOmit {
		return true
	}
	if len(s) != len("2026-01-02") {
		return false
	}
	for i := 0; i < len(s); i++ {
		if i == 4 || i == 7 {
			if s[i] != '-' {
				return false
			}
		} else if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	year, month, day := decimal(s[:4]), decimal(s[5:7]), decimal(s[8:])
	days := 31
	switch month {
	case 4, 6, 9, 11:
		days = 30
	case 2:
		days = 28
		if year%4 == 0 && year%100 != 0 || year%400 == 0 {
			days = 29
		}
	}
	return month >= 1 && month <= 12 && day >= 1 && day <= days
}

func decimal(digits string) int {
	n := 0
	for i := 0; i < len(digits); i++ {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}

// KnownExtras returns all parameters of inference servers that an operator can allow.
func KnownExtras() []string {
	return []string{
		"top_k", "min_p", "repetition_penalty", "min_tokens", "stop_token_ids", "priority", "cache_salt",
		"chat_template_kwargs",
	}
}

// DefaultExtras returns the parameters that affect only the request's own answer.
func DefaultExtras() []string {
	return []string{"top_k", "min_p", "repetition_penalty", "min_tokens", "stop_token_ids", "chat_template_kwargs"}
}
