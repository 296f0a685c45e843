package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// channelsAsked is the header that asks for channel events, as errors quote it.
const channelsAsked = "'" + contract.EventsHeader + ": " + contract.EventsChannels + "'"

// byChannels reports whether the answer is to be channel events. A header that cannot be obeyed is refused; a model's
// own setting holds where it can.
func (g *generation) byChannels(m *Model, r *translate.Request) (bool, *openai.Error) {
	switch form := g.x.asked.events; form {
	case "":
		return m.Answers.Events == contract.EventsChannels && g.noChannels(r) == nil, nil
	case contract.EventsChunks:
		return false, nil
	case contract.EventsChannels:
		failure := g.noChannels(r)
		return failure == nil, failure
	default:
		return false, openai.Invalid(contract.EventsHeader, "Invalid header '"+contract.EventsHeader+"': '"+clip(form)+
			"'. Supported values are: '"+contract.EventsChunks+"' and '"+contract.EventsChannels+"'.")
	}
}

// noChannels returns the reason why the answer cannot be channel events, or nil where it can.
func (g *generation) noChannels(r *translate.Request) *openai.Error {
	switch {
	case g.api != translate.ChatAPI:
		return openai.Unsupported(contract.EventsHeader, "Unsupported header: "+channelsAsked+
			" is for /v1/chat/completions only; leave it out.")
	case !r.Stream:
		return openai.Unsupported("stream", "Unsupported value: "+channelsAsked+
			" wants a stream; set 'stream' to true, or leave the header out.")
	case r.Choices > 1:
		return openai.Unsupported("n", "Unsupported value: with "+channelsAsked+" 'n' can only be 1.")
	case r.Logprobs:
		return openai.Unsupported("logprobs", "Unsupported value: with "+channelsAsked+" 'logprobs' cannot be true.")
	case r.HideReasoning:
		return openai.Unsupported("include_reasoning", "Unsupported value: with "+channelsAsked+
			" 'include_reasoning' cannot be false.")
	default:
		return nil
	}
}
