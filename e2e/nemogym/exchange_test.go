//go:build e2e

package nemogym

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// mode is a way to ask the gateway, which must not change what the server gets and what the client understands.
type mode struct {
	name string
	// unstreamed servers answer with a whole object, although they are asked for a stream.
	unstreamed bool
	// streamed clients ask for a stream.
	streamed bool
}

var modes = []mode{{name: "whole"}, {name: "unstreamed server", unstreamed: true}, {name: "stream", streamed: true}}

// play asks the gateway what a vector's client asks, turn by turn, with the gateway's own answers as the history. It
// returns the turns as a recording of the gateway's.
func play(t *testing.T, v *vector, m mode, gateway string, server *scripted) []turn {
	t.Helper()
	server.unstreamed = m.unstreamed
	client := lab.HTTP1(t)
	member, path := "input", lab.ResponsesPath
	if v.API == "chat" {
		member, path = "messages", lab.ChatPath
	}
	var past any
	var turns []turn
	for i := range v.Turns {
		add := v.Turns[i].Input
		if v.API == "chat" {
			add = v.Turns[i].Messages
		}
		if i == 0 {
			past = add
		} else {
			past = grown(v.API, past, turns[i-1].Response, elements(add))
		}
		// A VLLMModel needs no name of a model, and ignores one.
		body := map[string]any{"model": theModel}
		maps.Copy(body, v.Request)
		body[member] = past
		if m.streamed {
			body["stream"] = true
			if v.API == "chat" {
				body["stream_options"] = map[string]any{"include_usage": true}
			}
		}
		server.next(v.Turns[i].Answer)
		answer := lab.Ask(client, gateway+path, encode(t, body))
		if answer.Err != nil {
			t.Fatalf("turn %d: %v", i, answer.Err)
		}
		got := turn{Sent: server.requests(), Status: answer.Status}
		if m.streamed && answer.Status == http.StatusOK {
			got.Response = lastObject(t, v.API, answer.Body)
		} else {
			got.Response = object(t, answer.Body)
		}
		turns = append(turns, got)
		if got.Status != http.StatusOK {
			break
		}
	}
	return turns
}

// grown returns the history of the next turn: what was said so far, the answer, and what the client adds.
func grown(api string, past any, response map[string]any, add []any) any {
	if text, ok := past.(string); ok {
		past = []any{map[string]any{"role": "user", "content": text}}
	}
	said := elements(response["output"])
	if api == "chat" {
		choice, _ := elements(response["choices"])[0].(map[string]any)
		said = []any{choice["message"]}
	}
	return slices.Concat(elements(past), said, add)
}

// lastObject returns the whole answer that a stream describes: the response in its last event, or a chat.completion put
// together from the chunks.
func lastObject(t *testing.T, api, body string) map[string]any {
	t.Helper()
	var events []map[string]any
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
			events = append(events, object(t, data))
		}
	}
	if len(events) == 0 {
		t.Fatalf("a stream without events: %s", body)
	}
	if api == "chat" {
		return folded(events)
	}
	response, ok := events[len(events)-1]["response"].(map[string]any)
	if !ok {
		t.Fatalf("the stream does not end with a response: %s", encode(t, events[len(events)-1]))
	}
	return response
}

// folded puts a chat.completion together from chunks, as clients do.
func folded(events []map[string]any) map[string]any {
	whole := map[string]any{}
	message := map[string]any{}
	choice := map[string]any{"index": nil, "message": message, "finish_reason": nil}
	for _, event := range events {
		for name, value := range event {
			if name != "choices" && !isMissing(value) {
				whole[name] = value
			}
		}
		for _, c := range elements(event["choices"]) {
			part, _ := c.(map[string]any)
			delta, _ := part["delta"].(map[string]any)
			foldDelta(message, delta)
			for name, value := range part {
				if name != "delta" && !isMissing(value) {
					choice[name] = value
				}
			}
		}
	}
	whole["object"], whole["choices"] = "chat.completion", []any{choice}
	if _, ok := message["content"]; !ok {
		message["content"] = nil
	}
	return whole
}

func foldDelta(message, delta map[string]any) {
	for name, value := range delta {
		switch v := value.(type) {
		case nil:
		case string:
			text, _ := message[name].(string)
			if name == "role" {
				text = ""
			}
			message[name] = text + v
		case []any:
			if name == "tool_calls" {
				message[name] = foldCalls(elements(message[name]), v)
			} else {
				message[name] = v
			}
		default:
			message[name] = v
		}
	}
}

func foldCalls(calls, pieces []any) []any {
	for _, p := range pieces {
		piece, _ := p.(map[string]any)
		i := int(number(piece["index"]))
		for len(calls) <= i {
			calls = append(calls, map[string]any{"function": map[string]any{"arguments": ""}})
		}
		call, _ := calls[i].(map[string]any)
		function, _ := call["function"].(map[string]any)
		for name, value := range piece {
			switch name {
			case "index":
			case "function":
				more, _ := value.(map[string]any)
				if text, ok := more["name"].(string); ok {
					function["name"] = text
				}
				text, _ := function["arguments"].(string)
				added, _ := more["arguments"].(string)
				function["arguments"] = text + added
			default:
				call[name] = value
			}
		}
	}
	return calls
}
