package exchange

import (
	"cmp"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// conversation is a generation of servers that take conversations. It differs in what is sent. The answer is taken by
// a [generation] with other parsers, and with ends and answers in one piece as such servers have them.
type conversation struct{ *generation }

// send sends a request to servers that take conversations. A Chat request goes on as it is, unless its answer must be
// made anew.
func (c conversation) send(a *modelRequest, body []byte, h Host) RequestAction {
	renders := a.model.Kind.Facts().Renders
	if c.api == translate.ChatAPI && !renders && !a.model.RemakesChat() && !c.mayWantChannelEvents(a) {
		return c.x.passChat(a, body, h)
	}
	var sent []byte
	var failure *openai.Error
	spelled := ""
	if c.api == translate.ChatAPI {
		sent, failure = c.remake(a, body, h)
	} else {
		if renders {
			spelled = a.body.FindText(a.model.spellings.Spells) // before the texts are read, since reading overwrites the body
		}
		sent, failure = c.converse(a, h)
	}
	if renders && failure == nil {
		sent, failure = c.guard(a, sent, spelled, h)
	}
	if failure != nil {
		return c.x.refuse(failure)
	}
	if renders {
		return c.render(a, sent, h)
	}
	a.routeByText(sent)
	c.x.generation, c.x.response = c.generation, c.generation
	return c.x.forward(a.model, sent, mayBeSilent)
}

// remake returns the body that asks the model's servers for a stream of the answer to a Chat request. It lies in the
// scratch memory.
func (c conversation) remake(a *modelRequest, body []byte, h Host) ([]byte, *openai.Error) {
	if failure := c.x.checkPassed(a.model); failure != nil {
		return nil, failure
	}
	scratch := h.scratch()
	changes := changesOf(a.model)
	changes.Stream, changes.TokenIDs = true, a.model.Answers.TokenIDs
	sent, failure := chatserver.AppendRewritten(scratch.body[:0], body, changes)
	if failure != nil {
		return nil, failure
	}
	scratch.body = sent
	_, failure = c.read(a, translate.ChatAnswer, h) // overwrites the client's body
	return sent, failure
}

// read reads the request, and sets up what takes the answer to it.
func (c conversation) read(a *modelRequest, read reader, h Host) (*translate.Request, *openai.Error) {
	r, failure := a.read(read, h)
	if failure == nil {
		failure = c.checkKind(a.model, r)
	}
	if failure == nil {
		c.byChannels, failure = c.wantsChannelEvents(a.model, r)
	}
	if failure != nil {
		return nil, failure
	}
	a.overrideDemand()
	if !a.model.Kind.Facts().Renders { // else the tokens are counted
		if failure := a.fitsEstimate(c.param()); failure != nil {
			return nil, failure
		}
		a.reserveCounted(h)
	}
	if c.byChannels {
		r.ByChannelsAlone()
	}
	c.begins(a.model, r, h)
	c.maxTokens, c.context = cmp.Or(r.Sampling.MaxTokens, a.context), a.context
	return r, nil
}

// converse returns the body that asks the model's servers for the answer to a request to Responses or Messages. It lies
// in the scratch memory.
func (c conversation) converse(a *modelRequest, h Host) ([]byte, *openai.Error) {
	read := translate.ResponsesChat
	if c.api == translate.MessagesAPI {
		read = translate.MessagesChat
	}
	r, failure := c.read(a, read, h)
	if failure != nil {
		return nil, failure
	}
	model, scratch := a.model, h.scratch()
	scratch.body = model.Kind.AppendRequest(scratch.body[:0], &backend.Request{
		Model: model.ServerModel, Conversation: r.AppendConversation, MaxTokens: r.Sampling.MaxTokens,
		Choices: r.Choices, Logprobs: r.Logprobs, TopLogprobs: r.TopLogprobs,
		StopTokens: r.Sampling.StopTokenIDs, Sampling: openSampling(&r.Sampling), TokenIDs: model.Answers.TokenIDs,
	})
	return scratch.body, nil
}

// begins sets up what takes the answer to a request that is complete.
func (c conversation) begins(model *Model, r *translate.Request, h Host) {
	c.generation.begins(model, r, h)
	late := !model.Kind.Facts().Renders // an engine ends an answer once, and in a stream
	c.traced, c.takesWhole = r.TokenIDs(), late
	for i := range c.choices {
		choice := &c.choices[i]
		choice.endsLate = late
		choice.parser = newConversationParser(c.generation, model, r, choice.sink())
	}
}
