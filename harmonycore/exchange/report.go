package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// Report describes an exchange for metrics and logs. It holds no text of a message.
type Report struct {
	// API is "chat", "responses", "messages" or "completions". It has another value for requests that metrics do not count.
	API string
	// Model is the configured model that the request named, or empty for any other. Server is the kind of its servers.
	Model, Server string
	// Pool is the operator's name of the pool to which the request was sent, and Policy how one of its servers was chosen.
	// Both are empty for a request that was sent to none.
	Pool, Policy string
	// Route is the pool that was chosen of several ones, and why, as in [contract.RouteHeader]. It is empty for a request
	// that was sent to none, and for a model with one pool.
	Route string
	// RoutedBy is what the choice of the server was told to go by, such as [contract.RoutedByPrefix], or empty.
	RoutedBy string
	// Role is the role of the servers that made the answer, RoleDivided or RoleDecode, or empty if they have none. Prefill
	// describes the call of the one that was to read the prompt.
	Role    string
	Prefill PrefillReport
	// Conversation is the client's own name of the conversation, the key that it gives for the servers' caches, if that is
	// no longer than maxConversation.
	Conversation string
	// Client is the client that sends the request, or empty where clients are not told apart.
	Client string
	// Reserves reports whether tokens were reserved for the request. ReservedTokens is how many, and UsedTokens how many
	// the request has used of them, or more.
	Reserves                   bool
	Reservation                string // its name
	ReservedTokens, UsedTokens int
	// ClientKey is an id of the client's key, if the operator wants it in logs: the beginning of a hash of the key.
	ClientKey string
	// Routed reports whether the request was sent to the responses service unchanged. Server is then "responses_service".
	Routed bool
	// Untranslated reports whether the request was sent to the model's servers as it was. Observed is what was seen of it.
	// ObservedPrompt is the number of tokens of the prompt that the gateway would have sent, and ServersPrompt the number
	// that the servers counted. Both are 0 unless both are known.
	Untranslated                  bool
	Observed                      Observed
	ObservedPrompt, ServersPrompt int
	// ServersTokens is the number of tokens of prompt and answer as the servers have counted them, or 0.
	ServersTokens int
	// Translated reports whether the request was sent to the model's servers, translated or as a Chat request that needs
	// no translation. Only then do the following fields apply.
	Translated bool
	// PromptTokens is the number of tokens sent. CachedTokens of them were in the server's cache, as the server reports.
	// ToolOutputTokens of them are results of tools.
	PromptTokens, CachedTokens, ToolOutputTokens int
	// Recall is whether the beginning of the request was remembered, [RecallHit] or [RecallMiss], or empty if no such
	// request is. RecalledTokens is how many tokens of the prompt were.
	Recall         string
	RecalledTokens int
	// Ignored counts the items of the request that were ignored, by kind. DroppedParts is how many parts of its messages
	// were replaced by notes.
	Ignored      openai.Ignored
	DroppedParts int
	// UnenforcedGrammars is how many grammars of custom tools no server can enforce.
	UnenforcedGrammars int
	// TruncatedTurns is how many of the oldest turns of the request were left out so that the rest fits.
	TruncatedTurns int
	// BrokenSpellings is how many spellings of control tokens in the request's text were broken.
	BrokenSpellings int
	// Rendered is about the call that renders the conversation.
	Rendered RenderReport
	// CompletionTokens is the number of tokens that the server generated, control tokens included.
	CompletionTokens int
	// Tally counts the kinds of tokens in the client's answer.
	translate.Tally
	// Recoveries are the counts of the repairs. Refused is the error at which a strict parser would have stopped, or 0.
	Recoveries harmony.Recoveries
	Refused    harmony.ParseErrorKind
	// Fallbacks is the number of choices with text without any header. That text was taken as the answer, or split at the
	// model's marker.
	Fallbacks int
	// ReasoningAlert reports whether the model wrote hardly anything but reasoning.
	ReasoningAlert bool
	// UnexpectedOrder reports whether the model answered before it reasoned, although it was asked to reason.
	UnexpectedOrder bool
	// FirstToken is the time from the request to the first token, in milliseconds, or -1 if none came.
	FirstToken int64
	// Finish is the end of the request: one of the constants below.
	Finish string
	// FailedEarly reports whether the answer has failed before its first token, in the proxy's only attempt.
	FailedEarly bool
	// Cut is what cut an answer of which the client has only the beginning: one of the constants below, or empty.
	Cut string
	// EarlyEnd is why an answer, or one of its choices, ended before the server did: one of the constants below, or empty.
	EarlyEnd string
	// Repeated reports whether the model repeated itself in one of the choices, and the gateway or the server ended it.
	Repeated bool
	// Missed is what the server had to compute again of an earlier prompt ([Options.Turns]).
	Missed segments.Missed
	// WastedTokens is the number of tokens that came after the answer, or the choice that they were for, had ended. Tokens
	// that a server generates after its release are not counted.
	WastedTokens int
}

// IgnoredName returns a kind of [Report.Ignored] as metrics name it.
func IgnoredName(kind int) string { return openai.IgnoredKind(kind).String() }

// The values of [Report.Recall].
const (
	RecallHit  = "hit"
	RecallMiss = "miss"
)

// The ends of a translated request. The client sees the first three as finish reasons, and FinishError as an error or
// as a stream that the gateway cut. FinishCut is a server or a client that disconnected.
const (
	FinishStop      = "stop"
	FinishLength    = "length"
	FinishToolCalls = "tool_calls"
	FinishError     = "error"
	FinishCut       = "cut"
)

// The causes of a cut. The gateway cuts an answer if a server was silent too long (CutStall) or ended the answer in the
// middle (CutServer). For any other cut the host knows the cause: a server, a client that left (CutClient), or a time
// limit of the host's (CutTimeout). CutOther is a cause that the host does not know.
const (
	CutStall   = "stall"
	CutServer  = "server"
	CutClient  = "client"
	CutTimeout = "timeout"
	CutOther   = "other"
)

// The reasons why an answer ended before its server did: the client's stop sequence, the limit on reasoning, the end of
// the only call that the client wanted, a model that repeats itself, or an error after which the server went on.
const (
	EarlyStop       = "stop"
	EarlyReasoning  = "reasoning"
	EarlyCall       = "call"
	EarlyRepetition = "repetition"
	EarlyError      = "error"
)

// Report returns the report of the exchange. A host asks for it at the end of the stream.
func (e *Exchange) Report() Report {
	r := e.report
	if e.generation != nil {
		e.generation.complement(&r)
	}
	if e.passed != nil {
		e.passed.complement(&r)
	}
	if e.observer != nil {
		e.observer.complement(&r)
	}
	r.FailedEarly = e.unheld && r.Translated && r.FirstToken < 0 && (r.Finish == FinishError || r.Finish == FinishCut)
	e.settle(&r)
	if r.Prefill.Result == PrefillLeft && e.generation != nil {
		r.Prefill.Result = e.generation.unanswered(r.Finish)
	}
	r.Role = r.Prefill.role()
	return r
}

// complement adds the generation's part to a report.
func (g *generation) complement(r *Report) {
	r.Translated = true
	r.PromptTokens, r.CachedTokens = g.promptTokens, min(g.usage.Cached, g.promptTokens)
	r.CompletionTokens = g.usage.Completion
	if !g.kind.Facts().EstimatesTokens() || r.CompletionTokens == 0 { // an estimate never replaces a count
		r.CompletionTokens = max(g.generated(), r.CompletionTokens)
	}
	r.Missed = g.turn.Missed()
	r.Tally = g.answer.Tally()
	r.ReasoningAlert = float64(r.Reasoning) > g.x.gateway.options.ReasoningRatioAlert*float64(r.CompletionTokens)
	r.UnexpectedOrder = r.FinalFirst && g.effort >= harmony.Medium
	for i := range g.choices {
		c := &g.choices[i]
		recoveries := c.parser.recoveries()
		for kind, n := range recoveries {
			r.Recoveries[kind] += n
		}
		if recoveries[harmony.ImplicitFinal]+recoveries[harmony.ImplicitSplit] > 0 {
			r.Fallbacks++
		}
		if refused := c.parser.refused(); refused != nil && r.Refused == 0 {
			r.Refused = refused.Kind
		}
	}
	client := &g.x.client
	r.Cut = client.cut
	switch {
	case r.Finish != "":
	case !client.open():
		r.Finish = FinishError
	default:
		r.Finish = FinishCut
		if client.state != outletHeld {
			r.Cut = CutOther
		}
	}
}

// finished notes how the model ended. If any of its choices reached the limit, that is the limit.
func (g *generation) finished() {
	length := false
	for i := range g.choices {
		length = length || g.choices[i].finish.Limited()
		g.x.report.Repeated = g.x.report.Repeated || g.choices[i].finish == backend.Repeated
	}
	switch {
	case length:
		g.x.report.Finish = FinishLength
	case g.answer.Tally().Calls > 0:
		g.x.report.Finish = FinishToolCalls
	default:
		g.x.report.Finish = FinishStop
	}
}
