package translate

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// ServedMessages is a body of Anthropic's Messages API for a service that runs tools and asks the model by Responses:
// the request as one to Responses, and what that has no place for.
type ServedMessages struct {
	*anthropic.Request
	// Items has the input, and what beside it has the same meaning in both APIs. Its tools have not been settled.
	Items *openai.ResponsesRequest
	// Own are the client's own tools that the model is shown from the start. Served are those that a server runs.
	Own    []openai.Tool
	Served []anthropic.ServerTool
	// Chain is the id by which the browser knows the conversation, or empty.
	Chain string
}

// ReadServed reads a body of Anthropic's Messages API whose tools a server may run. counting reports whether the client
// wants a count of tokens only.
func ReadServed(body *openai.Body, m *contract.Model, sealing *Sealing, counting bool) (*ServedMessages,
	*openai.Error) {
	t := messagesRequest{
		in:      openai.NewItemsRequest(body.Model, body.Values, contract.TakesConversations(m.Server)),
		sealing: sealing, serves: true,
	}
	if err := t.readBody(body, m, counting); err != nil {
		return nil, err
	}
	if t.in.Dropped.First != nil && m.UnsupportedContent != contract.ContentDrop {
		return nil, t.in.Dropped.First
	}
	s := &ServedMessages{Request: t.Request, Items: t.in, Served: t.served, Chain: t.chain}
	for i := range t.tools {
		if tool := &t.tools[i]; !tool.Deferred || tool.Name == t.Choice.Name {
			s.Own = append(s.Own, *tool)
		}
	}
	s.Own = append(s.Own, t.in.InFront()...)
	return s, nil
}

// Instructions returns the system prompt.
func (s *ServedMessages) Instructions() string { return strings.Join(s.System, "\n\n") }
