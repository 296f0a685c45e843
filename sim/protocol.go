package sim

import (
	"io"
	"net/http"
)

// protocol is what differs between kinds of servers: their paths, their requests, and the bytes of their answers. All
// kinds share the model, scripts, faults, pace and records.
type protocol interface {
	// defaults sets the options that have other defaults than [Options.withDefaults] sets. MaxModelLen is set already.
	defaults(o *Options)
	// path returns the path of completions, and methods its methods.
	path() string
	methods() []string
	// page returns what serves another path, or nil if the kind does not have that path.
	page(s *Server, path string) *page
	// guarded reports whether a path requires [Options.APIKey].
	guarded(path string) bool
	// decode reads and checks a request for a completion. Beside a refusal it returns the completion if it could be read.
	decode(s *Server, h http.Header, body []byte) (*completion, *refusal)
	// answerID returns the id of the answer to a request.
	answerID(h http.Header, c *completion) string

	// refusal returns the body of a response that is an error. errorEvent returns an error within a stream.
	refusal(r *refusal) []byte
	errorEvent(r *refusal) []byte
	// streamsRefusals reports whether the refusal of a request for a stream is the only event of a stream.
	streamsRefusals() bool
	// streamType returns the content type of streams.
	streamType() string
	// leading returns what a stream begins with, before the first token.
	leading(j *job) []byte
	// event returns the event with the tokens from..to of a choice.
	event(j *job, index, from, to int) []byte
	// trailing returns what comes after the last token, and terminator what ends a stream after it or after an error.
	trailing(j *job) []byte
	terminator() []byte
	// meets reports whether two servers that share a request meet before the prompt is read.
	meets() bool
	// singleUse reports whether the server closes the connection of a stream when it is used again.
	singleUse() bool
	// whole returns an answer that is not streamed.
	whole(j *job) []byte
	// metrics writes the Prometheus text of /metrics.
	metrics(w io.Writer, m *metrics, model string, capacity int)
}

// page is a path other than that of completions.
type page struct {
	methods []string
	serve   func(w http.ResponseWriter, rec *Request)
}
