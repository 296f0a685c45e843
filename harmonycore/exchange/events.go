package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// EventsHeader is the header by which a client chooses the form of a stream of Chat Completions: "chunks", which are the
// API's own, or "channels" (docs/channel-events.md).
const EventsHeader = "x-harmony-events"

const (
	eventsChunks   = "chunks"
	eventsChannels = "channels"
)

// byChannels reports whether the answer is to be channel events. A header that cannot be obeyed is refused; a model's own
// setting holds where it can.
func (e *Exchange) byChannels(m *Model, r *translate.Request) (bool, *openai.Error) {
	switch e.form {
	case "":
		return m.ChannelEvents && e.kind == chat && r.Stream && r.Choices <= 1 && !r.Logprobs && !r.HideReasoning, nil
	case eventsChunks:
		return false, nil
	case eventsChannels:
		if e.kind != chat {
			return false, openai.Unsupported(EventsHeader, "Unsupported header: '"+EventsHeader+": "+eventsChannels+
				"' is for /v1/chat/completions only; leave it out.")
		}
		if !r.Stream {
			return false, openai.Unsupported("stream", "Unsupported value: '"+EventsHeader+": "+eventsChannels+
				"' wants a stream; set 'stream' to true, or leave the header out.")
		}
		if r.Choices > 1 {
			return false, openai.Unsupported("n", "Unsupported value: with '"+EventsHeader+": "+eventsChannels+"' 'n' can only be 1.")
		}
		if r.Logprobs {
			return false, openai.Unsupported("logprobs", "Unsupported value: with '"+EventsHeader+": "+eventsChannels+"' 'logprobs' cannot be true.")
		}
		if r.HideReasoning {
			return false, openai.Unsupported("include_reasoning", "Unsupported value: with '"+EventsHeader+": "+eventsChannels+"' 'include_reasoning' cannot be false.")
		}
		return true, nil
	default:
		return false, openai.Invalid(EventsHeader, "Invalid header '"+EventsHeader+"': '"+clip(e.form)+
			"'. Supported values are: '"+eventsChunks+"' and '"+eventsChannels+"'.")
	}
}
