package filtertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// State is how much of a message has arrived.
type State int

// The states of a message.
const (
	// Nothing means that nothing has arrived.
	Nothing State = iota
	// Open means that the message has begun and more may arrive.
	Open
	// Complete means that the whole message has arrived.
	Complete
	// Reset means that the message was cut, by the end of the connection or by a stream reset. Nothing more arrives, and
	// the receiver knows that something is missing. If a complete request is reset, its response is no longer wanted.
	Reset
)

// String returns the state's name.
func (s State) String() string {
	return [...]string{"nothing", "open", "complete", "reset"}[s]
}

// Message is what a side has received so far.
type Message struct {
	State State
	// Headers is nil until the headers arrive.
	Headers *Headers
	// Chunks are the pieces of the body, one for each that was passed on.
	Chunks []string
	// Trailers is nil if there are none.
	Trailers *Headers
}

// Body returns the body received so far.
func (m Message) Body() string { return strings.Join(m.Chunks, "") }

// Header returns the first value of a header, or an empty string.
func (m Message) Header(name string) string { return m.Headers.Get(name) }

// Response is what the client has received.
type Response struct {
	// Status is 0 until the headers arrive.
	Status int
	Message
}

// Request is what a server has received.
type Request struct {
	// Cluster is the cluster that the request was sent to.
	Cluster string
	Message
}

// String returns the response as one line.
func (r Response) String() string {
	if r.Headers == nil {
		return r.State.String()
	}
	return strconv.Itoa(r.Status) + r.describe()
}

// String returns the request as one line.
func (r Request) String() string {
	if r.Headers == nil {
		return r.State.String()
	}
	return r.Cluster + ": " + r.Header(":method") + " " + r.Header(":path") + r.describe()
}

func (m Message) describe() string {
	var out strings.Builder
	list := func(h *Headers) {
		for _, f := range h.All() {
			if !strings.HasPrefix(f.Name, ":") {
				fmt.Fprintf(&out, " | %s: %s", f.Name, f.Value)
			}
		}
	}
	list(m.Headers)
	for _, c := range m.Chunks {
		fmt.Fprintf(&out, " | %q", c)
	}
	list(m.Trailers)
	return out.String() + " | " + m.State.String()
}

// copied returns a copy that shares nothing with m.
func (m Message) copied() Message {
	m.Chunks = slices.Clone(m.Chunks)
	if m.Headers != nil {
		m.Headers = m.Headers.Clone()
	}
	if m.Trailers != nil {
		m.Trailers = m.Trailers.Clone()
	}
	return m
}

// length returns the content-length of the headers, or -1 if there is none.
func length(h *Headers) int {
	n, err := strconv.Atoi(h.Get("content-length"))
	if err != nil {
		return -1
	}
	return n
}
