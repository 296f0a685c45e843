package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Messages reads a body of Anthropic's Messages API for a model. It turns the request into one to Responses, from which
// the conversation is made. So the prompt is that of the same conversation by Responses.
func Messages(body *openai.Body, m *contract.Model, env Env) (*Request, *openai.Error) {
	read, err := readMessages(body, &env)
	if err != nil {
		return nil, err
	}
	r := newItemsRequest(MessagesAPI, &read.in, m, env)
	read.answer(r)
	if err := r.converse(&read.in, m, nil); err != nil {
		return nil, err
	}
	return r, nil
}

// MessagesChat is [Messages] for a model whose servers take conversations, as [ResponsesChat] is.
func MessagesChat(body *openai.Body, m *contract.Model, env Env) (*Request, *openai.Error) {
	read, err := readMessages(body, &env)
	if err != nil {
		return nil, err
	}
	r := newItemsRequest(MessagesAPI, &read.in, m, env)
	r.unphased, r.effortWord = true, read.in.Effort
	read.answer(r)
	if err := r.speak(&read.in, m, body.Size()); err != nil {
		return nil, err
	}
	return r, nil
}

// messagesRequest is a request to Messages, and the one to Responses that it is turned into.
type messagesRequest struct {
	*anthropic.Request
	in openai.ResponsesRequest
}

// answer sets what only the answer depends on. Reasoning is sealed in every answer: without an earlier turn's the model
// would not know what it has thought.
func (t *messagesRequest) answer(r *Request) {
	r.thinking, r.sealed = t.Thinking, true
}

func readMessages(body *openai.Body, env *Env) (*messagesRequest, *openai.Error) {
	read, err := anthropic.DecodeRequest(body)
	if err == nil && !env.Counting {
		err = read.RequireMaxTokens()
	}
	if err != nil {
		return nil, err
	}
	t := &messagesRequest{Request: read, in: openai.ResponsesRequest{Model: read.Model, Stream: read.Stream}}
	t.in.Sampling.MaxTokens = read.MaxTokens
	if err := read.EachBlock(t.add); err != nil {
		return nil, err
	}
	if err := t.in.Settle(); err != nil {
		return nil, err
	}
	return t, nil
}

// add adds a block to the items.
func (t *messagesRequest) add(b *anthropic.Block) *openai.Error {
	t.in.Input = append(t.in.Input, openai.InputItem{
		Kind: openai.ItemMessage, Index: b.Message, Block: b.Index, Role: b.Role, Content: []string{b.Text},
	})
	return nil
}
