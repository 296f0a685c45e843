package structure

import "github.com/harmonyedge/harmonyedge/harmonycore/harmony"

// Adapter reads the text of one answer and passes its messages on to a [harmony.Sink]. It is the
// StreamingStructureAdapter of docs/structure.md: Write is its process_chunk, and Finish its finalize.
//
// The messages must not depend on how the text is cut. All text is in exactly one message, except what marks the
// structure itself. An Adapter must hold back only a bounded amount.
type Adapter interface {
	// Write takes the next piece of text. now is the time in milliseconds since 1970, or 0 if Timed reports false.
	Write(text []byte, now int64)
	// Timed reports whether the next Write uses its time.
	Timed() bool
	// Break delivers what is held back, and closes the open message. The caller calls it before it passes on a message
	// that came beside the text: reasoning or a call from a member of its own. Before all text it means that the server
	// separates reasoning from the text. Text may follow.
	Break()
	// Finish delivers what is held back, and closes the open message. whole reports whether the model has ended its answer
	// by itself. It is the last call.
	Finish(whole bool)
	// Recoveries returns the counts of the repairs so far.
	Recoveries() harmony.Recoveries
}

// Options are what an adapter may need of a model's settings.
type Options struct {
	// Fallback is when text without control tokens is taken for an answer without Harmony.
	Fallback harmony.Fallback
	// Marker ends the reasoning of a model that speaks marker.
	Marker string
	// ThinkTags is [contract.ChatServers.ThinkTags].
	ThinkTags string
	// Tools are the request's functions, or nil.
	Tools Tools
}

// New returns a new adapter for one answer.
type New func(sink harmony.Sink, o Options) Adapter
