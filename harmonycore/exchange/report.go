package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// Report is what an exchange tells of itself when it is over, for metrics and logs. No text of a message is in it.
type Report struct {
	// API is "chat", "responses" or "completions", or something else for what is counted nowhere.
	API string
	// Model is the configured model that was asked for, empty if it is none; Server is the kind of its servers.
	Model, Server string
	// Routed says that the request went to the responses service as it came. Server is then "responses_service".
	Routed bool
	// Translated says that a request of ours went to a server; what follows has a meaning only then.
	Translated bool
	// PromptTokens were sent. CachedTokens of them were in the server's cache, as far as it tells; ToolOutputTokens of them
	// are results of tools.
	PromptTokens, CachedTokens, ToolOutputTokens int
	// UnknownItems of the request were passed over, and DroppedParts of its messages left as notes.
	UnknownItems, DroppedParts int
	// TruncatedTurns of the request were left out, oldest first, for the rest to fit.
	TruncatedTurns int
	// CompletionTokens is how many the server has generated, control tokens and all.
	CompletionTokens int
	// Tally is what the client's answer has counted of them.
	translate.Tally
	// Recoveries are what was repaired, Refused the error at which a strict parser would have stopped, 0 if none.
	Recoveries harmony.Recoveries
	Refused    harmony.ParseErrorKind
	// Fallbacks is how many choices had text without any header, which was taken for the answer.
	Fallbacks int
	// ReasoningAlert says that the model did hardly anything but reason.
	ReasoningAlert bool
	// UnexpectedOrder says that the model answered before it had reasoned, although it was asked to reason.
	UnexpectedOrder bool
	// FirstToken is how long after the request the first token came, in milliseconds; -1 if none did.
	FirstToken int64
	// Finish is one of the constants below.
	Finish string
	// Cut is who ended an answer that its client has the beginning of, and no end: one of the constants below, or empty.
	Cut string
	// EarlyEnd is why an answer, or one of its choices, ended before the server did: one of the constants below, or empty.
	EarlyEnd string
	// WastedTokens came after the answer, or the choice that they were for, had ended. Those that a server still generates
	// once it is let go nobody sees.
	WastedTokens int
}

// How a translated request ended. The first three are told to the client as such, the fourth as an error or as a stream
// that we cut; the last is a server or a client that went away.
const (
	FinishStop      = "stop"
	FinishLength    = "length"
	FinishToolCalls = "tool_calls"
	FinishError     = "error"
	FinishCut       = "cut"
)

// Who cut an answer: a server that was silent for too long, or one that ended it in the middle. Of an answer that we did not
// cut the host knows more, and CutOther is what it makes of what it does not know: a client that left, a time limit of its
// own.
const (
	CutStall   = "stall"
	CutServer  = "server"
	CutClient  = "client"
	CutTimeout = "timeout"
	CutOther   = "other"
)

// Why an answer ended before its server did: at the client's stop sequence, at the cap on reasoning, behind the only call
// that the client wanted, or with an error behind which the server went on.
const (
	EarlyStop      = "stop"
	EarlyReasoning = "reasoning"
	EarlyCall      = "call"
	EarlyError     = "error"
)

// Report says how the exchange went. It is asked for at the end of the stream.
func (e *Exchange) Report() Report {
	r := e.report
	r.API = e.kind.api()
	if !r.Translated {
		return r
	}
	r.PromptTokens, r.CachedTokens = e.promptTokens, min(e.usage.Cached, e.promptTokens)
	r.CompletionTokens = max(e.generated(), e.usage.Completion)
	r.Tally = e.answer.Tally()
	r.ReasoningAlert = float64(r.Reasoning) > e.gateway.options.ReasoningAlert*float64(r.CompletionTokens)
	r.UnexpectedOrder = r.FinalFirst && e.effort >= harmony.Medium
	for i := range e.choices {
		c := &e.choices[i]
		recoveries := c.parser.Recoveries()
		for kind, n := range recoveries {
			r.Recoveries[kind] += n
		}
		if recoveries[harmony.ImplicitFinal] > 0 {
			r.Fallbacks++
		}
		if refused := c.check.Err(); refused != nil && r.Refused == 0 {
			r.Refused = refused.Kind
		}
	}
	if r.Finish != "" {
		return r
	}
	switch e.state {
	case awaiting, listening, collecting, streaming:
		r.Finish = FinishCut
		if e.state == streaming || e.headSent {
			r.Cut = CutOther
		}
	default:
		r.Finish = FinishError
	}
	return r
}

// finished notes how the model ended: at the limit, if any of its choices did.
func (e *Exchange) finished() {
	length := false
	for i := range e.choices {
		length = length || e.choices[i].finish == backend.Length
	}
	switch {
	case length:
		e.report.Finish = FinishLength
	case e.answer.Tally().Calls > 0:
		e.report.Finish = FinishToolCalls
	default:
		e.report.Finish = FinishStop
	}
}

func (k kind) api() string {
	switch k {
	case chat:
		return "chat"
	case responses, stored:
		return "responses"
	case inputTokens, tokenizing, detokenizing:
		return "tokens"
	case modelList, oneModel:
		return "models"
	case undecided, badPath, upgrade:
		return "other"
	default:
		return "completions"
	}
}
