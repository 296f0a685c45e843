package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// byChannels reports whether the answer is to be channel events. A header that cannot be obeyed is refused; a model's own
// setting holds where it can.
func (g *generation) byChannels(m *Model, r *translate.Request) (bool, *openai.Error) {
	switch form := g.x.asked.events; form {
	case "":
		return m.ChannelEvents && g.api == translate.ChatAPI && r.Stream && r.Choices <= 1 && !r.Logprobs && !r.HideReasoning, nil
	case contract.EventsChunks:
		return false, nil
	case contract.EventsChannels:
		if g.api != translate.ChatAPI {
			return false, openai.Unsupported(contract.EventsHeader, "Unsupported header: '"+contract.EventsHeader+": "+contract.EventsChannels+
				"' is for /v1/chat/completions only; leave it out.")
		}
		if !r.Stream {
			return false, openai.Unsupported("stream", "Unsupported value: '"+contract.EventsHeader+": "+contract.EventsChannels+
				"' wants a stream; set 'stream' to true, or leave the header out.")
		}
		if r.Choices > 1 {
			return false, openai.Unsupported("n", "Unsupported value: with '"+contract.EventsHeader+": "+contract.EventsChannels+"' 'n' can only be 1.")
		}
		if r.Logprobs {
			return false, openai.Unsupported("logprobs", "Unsupported value: with '"+contract.EventsHeader+": "+contract.EventsChannels+"' 'logprobs' cannot be true.")
		}
		if r.HideReasoning {
			return false, openai.Unsupported("include_reasoning", "Unsupported value: with '"+contract.EventsHeader+": "+contract.EventsChannels+"' 'include_reasoning' cannot be false.")
		}
		return true, nil
	default:
		return false, openai.Invalid(contract.EventsHeader, "Invalid header '"+contract.EventsHeader+"': '"+clip(form)+
			"'. Supported values are: '"+contract.EventsChunks+"' and '"+contract.EventsChannels+"'.")
	}
}
