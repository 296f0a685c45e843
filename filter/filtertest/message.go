package filtertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// State is how far a message has got.
type State int

// The states.
const (
	// Nothing has come.
	Nothing State = iota
	// Open: it has begun, and more may come.
	Open
	// Complete: all of it has come.
	Complete
	// Reset: it was cut, by the end of the connection or by a reset of the stream. Nothing more will come, and the side
	// knows that something is missing. Of a request that had come whole: nobody wants the answer any more.
	Reset
)

// String is the state's name.
func (s State) String() string {
	return [...]string{"nothing", "open", "complete", "reset"}[s]
}

// Message is what a side has got so far.
type Message struct {
	State State
	// Headers is nil while nothing has come.
	Headers *Headers
	// Chunks are the pieces of the body, one for each that was sent on.
	Chunks []string
	// Trailers is nil if there are none.
	Trailers *Headers
}

// Body is the body as far as it has come.
func (m Message) Body() string { return strings.Join(m.Chunks, "") }

// Header is the first value of a header, or empty.
func (m Message) Header(name string) string { return m.Headers.Get(name) }

// Response is what the client has got.
type Response struct {
	// Status is 0 while nothing has come.
	Status int
	Message
}

// Request is what a server has got.
type Request struct {
	// Cluster is where the request went.
	Cluster string
	Message
}

// String shows the response in one line.
func (r Response) String() string {
	if r.Headers == nil {
		return r.State.String()
	}
	return strconv.Itoa(r.Status) + r.describe()
}

// String shows the request in one line.
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

// copied shares nothing with m.
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

// length is what the headers say that the body has, or -1.
func length(h *Headers) int {
	n, err := strconv.Atoi(h.Get("content-length"))
	if err != nil {
		return -1
	}
	return n
}
