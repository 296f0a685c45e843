package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// isTooLong reports whether a request failed because its conversation does not fit the model's context.
func isTooLong(failure *openai.Error) bool {
	return failure.Code == contract.CodeContextLengthExceeded
}

// answerFailed returns the reply to a server's error.
func (g *generation) answerFailed(failed *backend.Error) *Reply { return g.replyTo(g.failure(failed)) }

// replyTo returns the reply to a request that failed at a server. A conversation that is too long may get an empty
// answer, if the status has not been sent.
func (g *generation) replyTo(failure *openai.Error) *Reply {
	if !isTooLong(failure) || !g.translated.EmptiesTooLong() || g.x.client.state != outletHeld {
		return g.x.replyWith(failure)
	}
	return g.empty(g.translated, g.x.now())
}

// empty returns an answer without text that ended at its limit. now is in milliseconds since 1970.
func (g *generation) empty(r *translate.Request, now int64) *Reply {
	g.x.report.Finish = FinishLength
	body, contentType := r.EmptyAnswer(g.byChannels, now/1000)
	return &Reply{Status: 200, ContentType: contentType, Body: body}
}
