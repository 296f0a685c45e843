package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// ChannelEvent is the kind of a channel event (docs/channel-events.md). OpenAI has no such stream. The events are here
// because clients read them.
type ChannelEvent uint8

// The kinds of events. [EventDone] and [EventError] end a stream.
const (
	EventAnalysis ChannelEvent = iota
	EventCommentary
	EventToken
	EventToolCall
	EventDone
	EventError
)

var channelEventNames = [...]string{
	EventAnalysis: "analysis", EventCommentary: "commentary", EventToken: "token",
	EventToolCall: "tool_call", EventDone: "done", EventError: "error",
}

// appendEventOpen begins an event of a kind, up to the first member of its object.
func appendEventOpen(dst []byte, kind ChannelEvent) []byte {
	dst = append(dst, "event: "...)
	if int(kind) < len(channelEventNames) {
		dst = append(dst, channelEventNames[kind]...)
	}
	return append(dst, "\ndata: {"...)
}

const eventClose = "}\n\n"

// AppendEventText appends one piece of text of the model's message with this index.
func AppendEventText(dst []byte, kind ChannelEvent, message int, text []byte) []byte {
	dst = appendCount(appendEventOpen(dst, kind), `"message":`, message)
	dst = rawjson.AppendEscaped(append(dst, `,"text":"`...), rawjson.View(text))
	return append(append(dst, '"'), eventClose...)
}

// EventCall is one whole call by the model.
type EventCall struct {
	Kind     CallKind
	ID, Name string
	// Arguments are escaped, as [rawjson.AppendEscaped] writes them.
	Arguments []byte
}

// AppendEventCall appends a call up to its conversation. The caller appends the conversation as JSON, then calls
// [AppendEventCallClose].
func AppendEventCall(dst []byte, message, index int, c *EventCall) []byte {
	dst = appendCount(appendEventOpen(dst, EventToolCall), `"message":`, message)
	dst = appendCount(dst, `,"index":`, index)
	dst = rawjson.AppendString(append(dst, `,"id":`...), c.ID)
	dst = rawjson.AppendString(append(dst, `,"type":`...), c.Kind.name())
	dst = rawjson.AppendString(append(dst, `,"name":`...), c.Name)
	dst = appendEscapedString(append(dst, `,"arguments":`...), c.Arguments)
	return append(dst, `,"conversation":`...)
}

// AppendEventCallClose ends the event that [AppendEventCall] began.
func AppendEventCallClose(dst []byte) []byte { return append(dst, eventClose...) }

// AppendEventDone appends the last event of a complete answer.
func AppendEventDone(dst []byte, h *ChatHead, reason string, u Usage) []byte {
	dst = rawjson.AppendString(append(appendEventOpen(dst, EventDone), `"id":`...), h.ID)
	dst = rawjson.AppendInt(append(dst, `,"created":`...), h.Created)
	dst = rawjson.AppendString(append(dst, `,"model":`...), h.Model)
	dst = appendFinish(append(dst, `,"finish_reason":`...), reason)
	dst = u.appendChat(append(dst, `,"usage":`...))
	return append(dst, eventClose...)
}

// AppendEventError appends the last event of a failed stream. A nil usage means that the server's count is not known.
func AppendEventError(dst []byte, e *Error, usage *Usage) []byte {
	dst = e.appendMembers(appendEventOpen(dst, EventError))
	dst = append(dst, `,"usage":`...)
	if usage == nil {
		dst = append(dst, "null"...)
	} else {
		dst = usage.appendChat(dst)
	}
	return append(dst, eventClose...)
}
