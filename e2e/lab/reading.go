//go:build e2e

package lab

import (
	"encoding/json"
	"strings"
)

// LastWord ends Chat's streams.
const LastWord = "data: [DONE]\n\n"

// SaysLastWord reports whether a stream of Chat, of chunks or of channel events, says that it is complete.
func SaysLastWord(body string) bool {
	events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	return strings.HasSuffix(body, LastWord) ||
		strings.HasSuffix(body, "\n\n") && strings.HasPrefix(events[len(events)-1], "event: done\n")
}

// Reading is what a client has understood of an answer, streamed or whole, of either API.
type Reading struct {
	Text, reasoning string
	// End is the finish reason or the status; empty if the answer says none.
	End string
	// Failure is the message of an error that came inside a stream.
	Failure string
	// Last says that the stream's own last word came: [DONE], or an event with the whole response.
	Last bool
}

func Read(body string) Reading {
	var r Reading
	if !strings.HasPrefix(body, "data:") && !strings.HasPrefix(body, "event:") {
		r.object(body)
		r.Last = true
		return r
	}
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			r.Last = true
			continue
		}
		r.object(data)
	}
	return r
}

func (r *Reading) object(data string) {
	type message struct{ Content, Reasoning string }
	type response struct {
		Status string
		Error  *struct{ Message string }
		Output []struct {
			Type    string
			Content []struct{ Type, Text string }
		}
	}
	var v struct {
		Error   *struct{ Message string }
		Choices []struct {
			Delta, Message message
			FinishReason   *string `json:"finish_reason"`
		}
		Type, Delta string
		Response    *response
		response
	}
	// delta is an object in one API and a string in the other.
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		if r.Failure == "" {
			r.Failure = "not JSON: " + err.Error()
		}
		return
	}
	if v.Error != nil {
		r.Failure = v.Error.Message
	}
	for _, c := range v.Choices {
		r.Text += c.Delta.Content + c.Message.Content
		r.reasoning += c.Delta.Reasoning + c.Message.Reasoning
		if c.FinishReason != nil {
			r.End = *c.FinishReason
		}
	}
	switch v.Type {
	case "response.output_text.delta":
		r.Text += v.Delta
	case "response.reasoning_text.delta":
		r.reasoning += v.Delta
	case "response.completed", "response.failed", "response.incomplete":
		r.Last, r.End = true, v.Response.Status
		if v.Response.Error != nil {
			r.Failure = v.Response.Error.Message
		}
	}
	if v.Response == nil && v.Status != "" {
		r.End = v.Status
		for _, item := range v.Output {
			for _, part := range item.Content {
				if item.Type == "message" {
					r.Text += part.Text
				} else {
					r.reasoning += part.Text
				}
			}
		}
	}
}

// Finished says that an answer is complete and well.
func (r Reading) Finished() bool {
	return r.Last && r.Failure == "" && (r.End == "stop" || r.End == "completed")
}
