package contract

// The settings of [Config.Mode]. A proxy that is not set to let headers be held makes a filter that tries so hang for
// good, so the mode cannot be found out, and is configured (docs/modes.md). ModeReduced wants exactly one model.
const (
	ModeFull    = "full"
	ModeReduced = "reduced"
)

// The settings of [Settings.HostedTools]: what becomes of a tool that the model is not shown, where no service runs it.
const (
	HostedToolsIgnore = "ignore"
	HostedToolsRefuse = "refuse"
)

// The settings of [ModelSettings.StructuredOutputs]: xgrammar's structural tags, which hold from an answer's first
// token on, or nothing, for servers that cannot do that.
const (
	StructuralTags = "structural_tag"
	NoStructure    = "none"
)

// The settings of [ModelSettings.RawPrompts].
const (
	RawPromptsDeny  = "deny"
	RawPromptsAllow = "allow"
)

// The settings of [ModelSettings.UnsupportedContent]: an error, or a note to the model in the place of each.
const (
	ContentRefuse = "refuse"
	ContentDrop   = "drop"
)

// The reasoning efforts. EffortRefuse is for [Efforts] alone: it answers requests for an effort with an error.
const (
	EffortLow    = "low"
	EffortMedium = "medium"
	EffortHigh   = "high"
	EffortRefuse = "refuse"
)

// The settings of [Answers.ReasoningFields].
const (
	ReasoningBoth        = "both"
	ReasoningOnly        = "reasoning"
	ReasoningContentOnly = "reasoning_content"
	ReasoningNone        = "none"
)

// The settings of [Answers.UndeclaredCalls].
const (
	CallsAsReasoning = "reasoning"
	CallsAsContent   = "content"
)

// The forms of Chat's streams, in [Answers.Events] and [EventsHeader]: the API's own chunks, or channel events
// (docs/channel-events.md).
const (
	EventsChunks   = "chunks"
	EventsChannels = "channels"
)

// The settings of [System.Date] beside a fixed day: the UTC day of the host's clock, or no date at all.
const (
	DateUTC  = "utc"
	DateOmit = "omit"
)

// validDate reports whether s may stand in [System.Date].
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

// KnownExtras returns all parameters of inference servers that can be let through.
func KnownExtras() []string {
	return []string{
		"top_k", "min_p", "repetition_penalty", "min_tokens", "stop_token_ids", "priority", "cache_salt",
		"chat_template_kwargs",
	}
}

// DefaultExtras returns those that change nothing but the request's own answer.
func DefaultExtras() []string {
	return []string{"top_k", "min_p", "repetition_penalty", "min_tokens", "stop_token_ids", "chat_template_kwargs"}
}
