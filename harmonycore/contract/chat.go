package contract

import (
	"cmp"
	"strings"
)

// ChatServers determines how the servers of a model of the kind [Chat] take a conversation. An absent setting has the
// filter's default. Only such models have it.
type ChatServers struct {
	// ReasoningHistory is "reasoning_content", "reasoning", "both", "think_tags" or "none": where earlier reasoning stands
	// in the assistant's messages.
	ReasoningHistory string `yaml:"reasoning_history"`
	// ThinkTags is "leading", "anywhere", "opened" or "off": where <think> and </think> in a server's text enclose
	// reasoning. "opened" is for models whose template writes <think> itself, so that an answer begins with reasoning.
	ThinkTags string `yaml:"think_tags"`
	// DeveloperRole is "system" or "keep": the role that a developer's messages have at the servers.
	DeveloperRole string `yaml:"developer_role"`
	// LateInstructions is "first", "user" or "keep": where a system's or a developer's items stand that come later than
	// the first turn of a Responses request. "first" is in the first message, "user" is in their place as a user's
	// message.
	LateInstructions string `yaml:"late_instructions"`
	// TemplateKwargs is an object with arguments of the servers' chat template. A client's own come first.
	TemplateKwargs Object `yaml:"template_kwargs"`
}

// Object is a JSON object as compact text. Empty is an absent one.
type Object string

// The values of [ModelSettings.Speaks]: what the text of a model's answers is. [SpeaksAuto] is Harmony for servers that
// take prompts. For servers that take conversations it is what the beginning of an answer shows. A name that begins
// with [ForeignPrefix] is an adapter that a program has registered itself (package structure).
const (
	SpeaksAuto    = "auto"
	SpeaksHarmony = "harmony"
	SpeaksChat    = "chat"
	SpeaksMarker  = "marker"
	// The forms of models that write their calls into the text.
	SpeaksHermes      = "hermes"
	SpeaksQwen3Coder  = "qwen3_coder"
	SpeaksGLM45       = "glm45"
	SpeaksKimiK2      = "kimi_k2"
	SpeaksDeepSeekV3  = "deepseek_v3"
	SpeaksDeepSeekV32 = "deepseek_v32"
	SpeaksMistral     = "mistral"
	SpeaksLlama3JSON  = "llama3_json"

	ForeignPrefix = "x-"
)

// ReasoningThinkTags is the value of [ChatServers.ReasoningHistory] that is not one of [Answers.ReasoningFields]: in
// the text, between <think> and </think>.
const ReasoningThinkTags = "think_tags"

// The values of [ChatServers.ThinkTags].
const (
	ThinkLeading  = "leading"
	ThinkAnywhere = "anywhere"
	ThinkOpened   = "opened"
	ThinkOff      = "off"
)

// The values of [ChatServers.DeveloperRole].
const (
	DeveloperSystem = "system"
	DeveloperKeep   = "keep"
)

// The values of [ChatServers.LateInstructions].
const (
	LateFirst = "first"
	LateUser  = "user"
	LateKeep  = "keep"
)

// The values of [Answers.ContextError]: what becomes of a conversation that is too long. [ContextEmptyLength] is an
// answer without text that ended at its limit, as NeMo Gym gives.
const (
	ContextErrorError  = "error"
	ContextEmptyLength = "empty_length"
)

// The values of [Answers.ReasoningSummary].
const (
	SummaryAsked  = "asked"
	SummaryAlways = "always"
)

// DefaultMarker is the marker of a model that speaks marker and has no [ModelSettings.Marker].
const DefaultMarker = "===FINAL==="

// maxMarker is the maximum length of a marker, in bytes.
const maxMarker = 64

// DefaultAPIPath is the default of [Model.APIPath].
const DefaultAPIPath = "/v1"

// ServerPath returns the path at which the model's servers take path, which is one of this package's.
func (m *Model) ServerPath(path string) string {
	base := cmp.Or(m.APIPath, DefaultAPIPath)
	if rest, ok := strings.CutPrefix(path, DefaultAPIPath+"/"); ok {
		return base + "/" + rest
	}
	return strings.TrimSuffix(base, DefaultAPIPath) + path
}

// ValidAPIPath reports whether s is a value of [Model.APIPath]: a path without a slash at its end.
func ValidAPIPath(s string) bool {
	return s != "" && s[0] == '/' && !strings.HasSuffix(s, "/") && !strings.ContainsAny(s, "?# %\\") &&
		!strings.Contains(s, "//") && !strings.Contains(s, "/.")
}

func validSpeaks(s string) bool {
	switch s {
	case SpeaksAuto, SpeaksHarmony, SpeaksChat, SpeaksMarker:
		return true
	}
	if SpeaksCalls(s) {
		return true
	}
	return strings.HasPrefix(s, ForeignPrefix) && len(s) > len(ForeignPrefix)
}

// CallForms returns the values of [ModelSettings.Speaks] that name a form of calls.
func CallForms() []string {
	return []string{
		SpeaksHermes, SpeaksQwen3Coder, SpeaksGLM45, SpeaksKimiK2, SpeaksDeepSeekV3, SpeaksDeepSeekV32, SpeaksMistral,
		SpeaksLlama3JSON,
	}
}

// SpeaksCalls reports whether a value of [ModelSettings.Speaks] names a form of calls.
func SpeaksCalls(s string) bool {
	for _, form := range CallForms() {
		if s == form {
			return true
		}
	}
	return false
}

func validMarker(s string) bool { return len(s) <= maxMarker && strings.TrimSpace(s) == s }

// RemakesChat reports whether the answers of servers that take conversations are made anew for Chat clients: they have
// a structure that clients cannot read, or lack or show what the operator wants otherwise. All others pass unchanged.
func (m *ModelSettings) RemakesChat() bool {
	plain := m.Speaks == SpeaksChat || m.Speaks == SpeaksAuto
	a := &m.Answers
	return !plain || a.TokenIDs || a.HideReasoning || a.MaxChoices < MaxChoices ||
		a.ContextError == ContextEmptyLength || m.MaxReasoningTokens > 0
}

// Fields returns the settings of the block.
func (c *ChatServers) Fields() []Field {
	return []Field{
		word("reasoning_history", &c.ReasoningHistory, ReasoningContentOnly,
			ReasoningBoth, ReasoningOnly, ReasoningContentOnly, ReasoningThinkTags, ReasoningNone),
		word("think_tags", &c.ThinkTags, ThinkLeading, ThinkLeading, ThinkAnywhere, ThinkOpened, ThinkOff),
		word("developer_role", &c.DeveloperRole, DeveloperSystem, DeveloperSystem, DeveloperKeep),
		word("late_instructions", &c.LateInstructions, LateFirst, LateFirst, LateUser, LateKeep),
		object("template_kwargs", &c.TemplateKwargs),
	}
}
