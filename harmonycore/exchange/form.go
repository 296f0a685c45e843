package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// errorForm is the form of the errors that a client gets.
type errorForm uint8

const (
	// openaiForm is OpenAI's form.
	openaiForm errorForm = iota
	// formByVersion is the form of a path that both APIs have: Anthropic's if the client says which version of that API it
	// speaks.
	formByVersion
	// anthropicForm is Anthropic's form.
	anthropicForm
)

// requestIDHeader has the proxy's name of a request. maxRequestID is the length of the longest that answers repeat: it
// may be the client's own.
const (
	requestIDHeader = "x-request-id"
	maxRequestID    = 128
)

// errorFormOf returns the form of the errors on a path. path is without its query.
func errorFormOf(path string) errorForm {
	switch path = resolved(path); {
	case isUnder(path, messagesRoots[:]):
		return anthropicForm
	case isUnder(path, modelsRoots[:]):
		return formByVersion
	}
	return openaiForm
}

// noteForm notes a header that decides the form of the client's errors, or that counts only in Anthropic's API.
func (e *Exchange) noteForm(name, value string) {
	switch {
	case e.form == openaiForm:
	case name == anthropic.VersionHeader:
		e.form = anthropicForm
	case name == anthropic.SessionHeader && len(value) <= maxConversation:
		e.conversation = strings.Clone(value)
	case name == requestIDHeader && len(value) <= maxRequestID:
		e.requestID = strings.Clone(value)
	}
}

// Anthropic reports whether the client's errors have the form of Anthropic's API.
func (e *Exchange) Anthropic() bool { return e.form == anthropicForm }

// RequestID returns the name of the request that goes with its answer in [anthropic.RequestIDHeader], or empty.
func (e *Exchange) RequestID() string {
	if !e.Anthropic() {
		return ""
	}
	return e.requestID
}

// replyWith returns the reply that has an error, in the client's form. All errors with a status are written here.
func (e *Exchange) replyWith(failure *openai.Error) *Reply {
	r := &Reply{Status: failure.Status, RetryAfter: failure.RetryAfter}
	if !e.Anthropic() {
		r.Body = failure.AppendJSON(nil)
		return r
	}
	r.Body = anthropic.AppendError(nil, failure, e.requestID)
	if failure.Status == 401 || failure.Status == 501 { // no further try changes them
		r.Headers = []Header{{anthropic.RetryHeader, "false"}}
	}
	return r
}

// tooLong returns the error for a prompt that does not fit, which is made from param. tokens is how many the prompt has,
// or 0 if counting has stopped before its end: it stops where the prompt is too long. Anthropic's clients act on the
// number, so they get an estimate then.
func (a *modelRequest) tooLong(param string, tokens int) *openai.Error {
	failure := errContextLength(param, a.context)
	if a.x.Anthropic() {
		if tokens == 0 {
			tokens = a.estimate()
		}
		failure.Message = anthropic.TooLong(max(tokens, a.context+1), a.context)
	}
	return failure
}

// curable puts words before a server's own by which Anthropic's clients find what to leave out. It is a 400 then, since
// they look at no other error.
func (e *Exchange) curable(out *openai.Error, words string) {
	if e.Anthropic() {
		out.Status, out.Type, out.Param, out.RetryAfter = 400, contract.InvalidRequestError, "", ""
		out.Message = words + out.Message
	}
}

// maxCounted is the greatest number of tokens that is read from a server's words.
const maxCounted = 100_000_000

// tooLongAtServer puts a server's words about a prompt that does not fit into the client's form. The greatest number
// among them is taken for the prompt's, if it can be.
func (e *Exchange) tooLongAtServer(message string, context int) string {
	if !e.Anthropic() {
		return message
	}
	greatest, n := 0, 0
	for i := range len(message) {
		c := message[i]
		if c < '0' || c > '9' || n >= maxCounted {
			n = 0
			continue
		}
		n = n*10 + int(c-'0')
		greatest = max(greatest, n)
	}
	return anthropic.TooLong(max(greatest, context+1), context)
}
