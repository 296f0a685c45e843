package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// quotedEventsHeader is the header that requests channel events, as errors quote it.
const quotedEventsHeader = "'" + contract.EventsHeader + ": " + contract.EventsChannels + "'"

// wantsChannelEvents reports whether the answer consists of channel events. It refuses a header that cannot be
// followed. The model's own setting applies only where it can.
func (g *generation) wantsChannelEvents(m *Model, r *translate.Request) (bool, *openai.Error) {
	switch form := g.x.options.events; form {
	case "":
		return m.Answers.Events == contract.EventsChannels && g.checkChannelEvents(r) == nil, nil
	case contract.EventsChunks:
		return false, nil
	case contract.EventsChannels:
		failure := g.checkChannelEvents(r)
		return failure == nil, failure
	default:
		return false, openai.Invalid(contract.EventsHeader, "Invalid header '"+contract.EventsHeader+"': '"+clip(form)+
			"'. Supported values are: '"+contract.EventsChunks+"' and '"+contract.EventsChannels+"'.")
	}
}

// mayWantChannelEvents reports whether the answer to a Chat request for servers that take conversations may consist of
// channel events, so that it is made anew.
func (g *generation) mayWantChannelEvents(a *modelRequest) bool {
	switch g.x.options.events {
	case "":
		return a.model.Answers.Events == contract.EventsChannels && a.body.Streams
	case contract.EventsChunks:
		return false
	default:
		return true
	}
}

// checkChannelEvents returns the reason why the answer cannot consist of channel events, or nil.
func (g *generation) checkChannelEvents(r *translate.Request) *openai.Error {
	switch {
	case g.api != translate.ChatAPI:
		return openai.Unsupported(contract.EventsHeader, "Unsupported header: "+quotedEventsHeader+
			" is for /v1/chat/completions only; leave it out.")
	case !r.Stream:
		return openai.Unsupported("stream", "Unsupported value: "+quotedEventsHeader+
			" wants a stream; set 'stream' to true, or leave the header out.")
	case r.Choices > 1:
		return openai.Unsupported("n", "Unsupported value: with "+quotedEventsHeader+" 'n' can only be 1.")
	case r.Logprobs:
		return openai.Unsupported("logprobs", "Unsupported value: with "+quotedEventsHeader+" 'logprobs' cannot be true.")
	case r.TokenIDs() != nil:
		return openai.Unsupported(contract.EventsHeader, "Unsupported header: "+quotedEventsHeader+
			" has no place for the ids of tokens, which this model's operator has configured with answers.token_ids; "+
			"leave the header out.")
	case r.HideReasoning:
		return openai.Unsupported("include_reasoning", "Unsupported value: with "+quotedEventsHeader+
			" 'include_reasoning' cannot be false.")
	default:
		return nil
	}
}
