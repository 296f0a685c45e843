package translate

import "github.com/harmonyedge/harmonyedge/harmonycore/contract"

// EmptiesTooLong reports whether a conversation that is too long for the model gets an [Request.EmptyAnswer] rather
// than an error.
func (r *Request) EmptiesTooLong() bool { return r.answers.ContextError == contract.ContextEmptyLength }

// EmptyAnswer returns an answer without text that ended at its limit. It has the form that the client asked for, and a
// response has one empty message. byChannels reports whether that form is channel events. now is in Unix seconds.
func (r *Request) EmptyAnswer(byChannels bool, now int64) (body []byte, contentType string) {
	r.ids = nil // nothing was sampled
	a := r.NewAnswer()
	if byChannels {
		a = newChannelStream(r)
	}
	a.Begin()
	if response, ok := a.(*responsesAnswer); ok {
		response.emptyMessage()
	}
	for _, c := range a.Choices() {
		c.End(Length)
	}
	a.Finish(Usage{WindowFull: true}, now)
	return a.Ready().Take(nil), a.ContentType()
}
