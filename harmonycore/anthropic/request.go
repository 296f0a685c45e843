package anthropic

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Thinking is what a client is shown of the model's reasoning.
type Thinking uint8

// The values of [Thinking].
const (
	// ThinkingOff shows none: the client has not asked for it, or has switched it off.
	ThinkingOff Thinking = iota
	// ThinkingShown shows its text.
	ThinkingShown
	// ThinkingOmitted shows that there was some, without its text.
	ThinkingOmitted
)

// Request holds the used members of a body of POST /v1/messages.
type Request struct {
	Model  string
	Stream bool
	// MaxTokens is the maximum number of tokens of the answer, reasoning included. 0 means that the client has not said.
	MaxTokens int
	Thinking  Thinking

	messages rawjson.Part
}

// DecodeRequest reads a body, apart from its messages. [Request.EachBlock] reads those.
func DecodeRequest(b *openai.Body) (*Request, *openai.Error) {
	r := &Request{Model: b.Model, Stream: b.Streams}
	root := b.Root()
	members := root.Items()
	for members.Next() {
		v := members.Part()
		if err := r.readMember(rawjson.View(members.Key), &v); err != nil {
			return nil, err
		}
	}
	if r.messages.Kind == 0 {
		return nil, missing(top("messages"))
	}
	return r, nil
}

// RequireMaxTokens returns an error if the client has not said how long the answer may be. The API requires it of every
// request for an answer.
func (r *Request) RequireMaxTokens() *openai.Error {
	if r.MaxTokens > 0 {
		return nil
	}
	return missing(top("max_tokens"))
}

func (r *Request) readMember(name string, v *rawjson.Part) *openai.Error {
	switch name {
	case "messages":
		r.messages = *v
	case "stream":
		return boolean(v, top("stream"), &r.Stream)
	case "max_tokens":
		return integer(v, top("max_tokens"), 1, &r.MaxTokens)
	}
	return nil
}
