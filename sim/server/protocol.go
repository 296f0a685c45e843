package server

import (
	"io"
	"net/http"
)

// Protocol is what differs between kinds of servers: their paths, their requests, and the bytes of their answers. All
// kinds share the model, scripts, faults, pace and records.
type Protocol interface {
	// Defaults sets the options that have other defaults than [Options.withDefaults] sets. MaxModelLen is set already.
	Defaults(o *Options)
	// Path returns the path of completions, and methods its methods.
	Path() string
	Methods() []string
	// Page returns what serves another path, or nil if the kind does not have that path.
	Page(s *Server, path string) *Page
	// Guarded reports whether a path requires [Options.APIKey].
	Guarded(path string) bool
	// Decode reads and checks a request for a completion. Beside a refusal it returns the completion if it could be read.
	Decode(s *Server, h http.Header, body []byte) (*Completion, *Refusal)
	// AnswerID returns the id of the answer to a request.
	AnswerID(h http.Header, c *Completion) string

	// Refusal returns the body of a response that is an error. errorEvent returns an error within a stream.
	Refusal(r *Refusal) []byte
	ErrorEvent(r *Refusal) []byte
	// StreamsRefusals reports whether the refusal of a request for a stream is the only event of a stream.
	StreamsRefusals() bool
	// StreamType returns the content type of streams.
	StreamType() string
	// Leading returns what a stream begins with, before the first token.
	Leading(j *Job) []byte
	// Event returns the event with the tokens from..to of a choice.
	Event(j *Job, index, from, to int) []byte
	// Trailing returns what comes after the last token, and terminator what ends a stream after it or after an error.
	Trailing(j *Job) []byte
	Terminator() []byte
	// Meets reports whether two servers that share a request meet before the prompt is read.
	Meets() bool
	// SingleUse reports whether the server closes the connection of a stream when it is used again.
	SingleUse() bool
	// Whole returns an answer that is not streamed.
	Whole(j *Job) []byte
	// Metrics writes the Prometheus text of /metrics.
	Metrics(w io.Writer, m *Metrics, model string, capacity int)
}

// Page is a path other than the one of completions.
type Page struct {
	// Methods are those that the path takes.
	Methods []string
	// Serve serves a request with one of them.
	Serve func(w http.ResponseWriter, rec *Request)
}
