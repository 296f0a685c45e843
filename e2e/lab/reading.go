//go:build e2e

package lab

import (
	"encoding/json"
	"strings"
)

// LastWord is the last event of a Chat stream.
const LastWord = "data: [DONE]\n\n"

// SaysLastWord reports whether a Chat stream, of chunks or of channel events, has its last event.
func SaysLastWord(body string) bool {
	events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	return strings.HasSuffix(body, LastWord) ||
		strings.HasSuffix(body, "\n\n") && strings.HasPrefix(events[len(events)-1], "event: done\n")
}

// Reading is what a client has understood of an answer, streamed or whole, of any of the three APIs.
type Reading struct {
	Text, Reasoning string
	// End is the finish reason or the status; empty if the answer says none.
	End string
	// Failure is the message of an error that came inside a stream.
	Failure string
	// Last reports whether the stream's last event came: [DONE], message_stop, or an event with the whole response.
	Last bool
}

// Read reads the body of an answer, streamed or whole, of Chat, Responses or Messages.
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

// message reads a message of Anthropic's API, or an event of one. It reports whether it is one.
func (r *Reading) message(data string) bool {
	var v struct {
		Type  string
		Delta struct {
			Text, Thinking string
			StopReason     string `json:"stop_reason"`
		}
		Content []struct{ Text, Thinking string }

		StopReason string `json:"stop_reason"`
	}
	err := json.Unmarshal([]byte(data), &v)
	switch {
	case err != nil:
		return false // a delta that is a text is of Responses
	case v.Type == "message_stop":
		r.Last = true
	case v.Type == "message_delta":
		r.End = v.Delta.StopReason
	case v.Type == "content_block_delta":
		r.Text += v.Delta.Text
		r.Reasoning += v.Delta.Thinking
	case v.Type == "message":
		r.End = v.StopReason
		for _, block := range v.Content {
			r.Text += block.Text
			r.Reasoning += block.Thinking
		}
	case v.Type == "message_start", v.Type == "content_block_start", v.Type == "content_block_stop", v.Type == "ping":
	default:
		return false
	}
	return true
}

func (r *Reading) object(data string) {
	if r.message(data) {
		return
	}
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
		r.Reasoning += c.Delta.Reasoning + c.Message.Reasoning
		if c.FinishReason != nil {
			r.End = *c.FinishReason
		}
	}
	switch v.Type {
	case "response.output_text.delta":
		r.Text += v.Delta
	case "response.reasoning_text.delta":
		r.Reasoning += v.Delta
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
					r.Reasoning += part.Text
				}
			}
		}
	}
}

// Finished reports whether an answer is complete and without an error.
func (r Reading) Finished() bool {
	return r.Last && r.Failure == "" && (r.End == "stop" || r.End == "completed" || r.End == "end_turn")
}
