package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// Report is what an exchange was, for metrics and logs. It holds no text of a message.
type Report struct {
	// API is "chat", "responses" or "completions", or something else for requests that metrics do not count.
	API string
	// Model is the configured model that was asked for, empty for any other; Server is the kind of its servers.
	Model, Server string
	// Routed reports whether the request went to the responses service as it came. Server is then "responses_service".
	Routed bool
	// Translated reports whether a translated request went to a server. What follows has a meaning only then.
	Translated bool
	// PromptTokens were sent. CachedTokens of them were in the server's cache, as far as it says. ToolOutputTokens of them
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
	// ReasoningAlert reports whether the model did hardly anything but reason.
	ReasoningAlert bool
	// UnexpectedOrder reports whether the model answered before it had reasoned, although it was asked to reason.
	UnexpectedOrder bool
	// FirstToken is how long after the request the first token came, in milliseconds; -1 if none did.
	FirstToken int64
	// Finish is one of the constants below.
	Finish string
	// Cut is what ended an answer of which its client has the beginning, and no end: one of the constants below, or empty.
	Cut string
	// EarlyEnd is why an answer, or one of its choices, ended before the server did: one of the constants below, or empty.
	EarlyEnd string
	// WastedTokens came after the answer, or the choice that they were for, had ended. Tokens that a server generates
	// after it is let go are not counted.
	WastedTokens int
}

// How a translated request ended. The client sees the first three as finish reasons, and FinishError as an error or as
// a stream that the gateway cut. FinishCut is a server or a client that went away.
const (
	FinishStop      = "stop"
	FinishLength    = "length"
	FinishToolCalls = "tool_calls"
	FinishError     = "error"
	FinishCut       = "cut"
)

// What cut an answer. The gateway cuts for a server that was silent for too long (CutStall), and for one that ended the
// answer in the middle (CutServer). Of a cut that was not the gateway's the host knows more: a server, a client that
// left (CutClient), a time limit of the host's (CutTimeout). CutOther is a cause that the host does not know.
const (
	CutStall   = "stall"
	CutServer  = "server"
	CutClient  = "client"
	CutTimeout = "timeout"
	CutOther   = "other"
)

// Why an answer ended before its server did: at the client's stop sequence, at the cap on reasoning, after the only
// call that the client wanted, or with an error after which the server went on.
const (
	EarlyStop      = "stop"
	EarlyReasoning = "reasoning"
	EarlyCall      = "call"
	EarlyError     = "error"
)

// Report returns how the exchange went. A host asks for it at the end of the stream.
func (e *Exchange) Report() Report {
	r := e.report
	if e.generation != nil {
		e.generation.complement(&r)
	}
	return r
}

// complement adds to a report what the generation knows.
func (g *generation) complement(r *Report) {
	r.Translated = true
	r.PromptTokens, r.CachedTokens = g.promptTokens, min(g.usage.Cached, g.promptTokens)
	r.CompletionTokens = max(g.generated(), g.usage.Completion)
	r.Tally = g.answer.Tally()
	r.ReasoningAlert = float64(r.Reasoning) > g.x.gateway.options.ReasoningRatioAlert*float64(r.CompletionTokens)
	r.UnexpectedOrder = r.FinalFirst && g.effort >= harmony.Medium
	for i := range g.choices {
		c := &g.choices[i]
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

// finished notes how the model ended: at the limit if any of its choices did.
func (g *generation) finished() {
	length := false
	for i := range g.choices {
		length = length || g.choices[i].finish == backend.Length
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
