package relay

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// API is what a relay knows of an API.
type API struct {
	// Name is the API in metrics and logs, and Path where the gateway has it.
	Name, Path string
	// AppendError appends the body of an error.
	AppendError func(dst []byte, e *openai.Error) []byte

	// sign is what the API's clients take as a sign that a quiet stream is alive.
	sign []byte
	// appendFailure appends the last event of a stream that has failed.
	appendFailure func(dst []byte, e *openai.Error) []byte
	// told returns the event for an error that the gateway has answered with this body, or nil if the body has another
	// form.
	told func(body []byte) []byte
	// end says whether an event is the last of its stream.
	end func(event []byte) ending
	// opens reports whether an event shows nothing of the model's answer yet.
	opens func(event []byte) bool
	// cuts reports whether a stream is cut after the event of its failure, as the gateway does it (RATIONALE.md#202).
	cuts bool
	// lost reports whether an error with a status and a body is the end of an answer that the model's server has lost.
	lost func(status int, body []byte) bool
}

// ending is how a stream ends.
type ending int8

const (
	running ending = iota
	whole
	failed
)

// Chat is Chat Completions. Its clients skip comments: a chunk before the first would have an id and a model of its
// own.
var Chat = &API{
	Name: "chat", Path: contract.ChatPath,
	AppendError: func(dst []byte, e *openai.Error) []byte { return e.AppendJSON(dst) },
	sign:        []byte(": keep-alive\n\n"),
	appendFailure: func(dst []byte, e *openai.Error) []byte {
		return append(e.AppendJSON(append(dst, chatFailure[:len("data: ")]...)), "\n\n"...)
	},
	told:  func([]byte) []byte { return nil },
	end:   endOfChat,
	opens: opensChat,
	cuts:  true,
	lost: func(status int, body []byte) bool {
		return status >= http.StatusInternalServerError && openaiError(status, body).Code == contract.CodeServerError
	},
}

// Messages is Anthropic's API.
var Messages = &API{
	Name: "messages", Path: contract.MessagesPath,
	AppendError: func(dst []byte, e *openai.Error) []byte { return anthropic.AppendError(dst, e, "") },
	sign:        anthropic.AppendPing(nil),
	appendFailure: func(dst []byte, e *openai.Error) []byte {
		return (&anthropic.Events{}).AppendFailure(dst, e)
	},
	told:  toldMessages,
	end:   endOfMessages,
	opens: opensMessages,
	lost: func(status int, _ []byte) bool { // its errors have no codes
		return status == http.StatusInternalServerError || status == http.StatusBadGateway ||
			status == http.StatusServiceUnavailable
	},
}

// The beginnings of events, as the gateway writes them.
const (
	chatFailure = `data: {"error":`
	chatDone    = "data: [DONE]"
	// channelDone and channelFailure are the last ones of channel events.
	channelDone     = "event: done\n"
	channelFailure  = "event: error\n"
	messagesStop    = "event: message_stop\n"
	messagesFailure = "event: error\n"
)

func begins(event []byte, with string) bool {
	return len(event) >= len(with) && rawjson.View(event[:len(with)]) == with
}

func endOfChat(event []byte) ending {
	switch {
	case begins(event, chatDone), begins(event, channelDone):
		return whole
	case begins(event, chatFailure), begins(event, channelFailure):
		return failed
	}
	return running
}

func endOfMessages(event []byte) ending {
	switch {
	case begins(event, messagesStop):
		return whole
	case begins(event, messagesFailure):
		return failed
	}
	return running
}

func opensMessages(event []byte) bool {
	return begins(event, "event: message_start\n") || begins(event, "event: content_block_start\n") ||
		begins(event, "event: ping\n")
}

// opensChat reports whether no choice of a chunk has a piece of an answer, or an end.
func opensChat(event []byte) bool {
	data, found := bytes.CutPrefix(event, []byte("data: {"))
	if !found {
		return false
	}
	choices, kind := rawjson.Find(event[len("data: "):len(event)-len(data)+len(bytes.TrimRight(data, "\n"))], "choices")
	if kind != rawjson.Array {
		return false
	}
	for each := rawjson.Elements(choices); each.Next(); {
		if reason, kind := rawjson.Find(each.Value, "finish_reason"); kind != rawjson.Null || len(reason) == 0 {
			return false
		}
		delta, _ := rawjson.Find(each.Value, "delta")
		for piece := rawjson.Members(delta); piece.Next(); {
			empty := piece.Kind == rawjson.Null || piece.Kind == rawjson.String && len(piece.Value) == 0
			if !empty && rawjson.View(piece.Key) != "role" {
				return false
			}
		}
	}
	return true
}

// toldMessages returns the event for an error of the gateway's in Anthropic's form.
func toldMessages(body []byte) []byte {
	var known struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if json.Unmarshal(body, &known) != nil || known.Type != "error" || known.Error.Type == "" {
		return nil
	}
	var line bytes.Buffer
	if json.Compact(&line, body) != nil { // an event's data is one line
		return nil
	}
	return append(append([]byte("event: error\ndata: "), line.Bytes()...), "\n\n"...)
}
