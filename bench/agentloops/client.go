package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// client is an agent's program: it sends what is new, and keeps what its API wants to see again.
type client interface {
	// say sends a user's text, or the result of the last call, and returns the answer.
	say(ctx context.Context, text string, user bool) (said, error)
}

// said is what a client sees of an answer.
type said struct {
	reasoning, arguments, final string
	prompt, cached              int
}

// instructions are those of every loop. They differ by their beginning, so that no loop finds another's prompt cached.
func instructionsOf(name string) string { return name + ": you work in a repository. Use the shell." }

var parameters = json.RawMessage(`{"type":"object","properties":{"cmd":{"type":"string"}},"required":["cmd"]}`)

// once has a connection for each request: llama.cpp closes that of a stream when it is used again.
var once = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// post sends a request, and returns the answer.
func post(ctx context.Context, url string, body any) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	request.Header.Set("content-type", "application/json")
	response, err := once.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %.1000s", url, response.StatusCode, text)
	}
	return text, err
}

// shortResult is the result of a call where a user's message carries the script.
const shortResult = "done"

type object = map[string]any

// chat is a client of Chat Completions. It asks for streams, as agents do, and sends back the messages with their
// reasoning, under the name that it came by. It does not use whole answers: vLLM's own are not what the model wrote.
type chat struct {
	url, model string
	messages   []any
	call       string
	// quoted reports whether the server shows the model results as JSON strings. The script would be lost in one, so a
	// user's message after the result carries it.
	quoted bool
}

func newChat(url, model, name string) *chat {
	return &chat{url: url + "/v1/chat/completions", model: model,
		messages: []any{object{"role": "system", "content": instructionsOf(name)}}}
}

// chunk is an event of a stream.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content, Reasoning string
			ReasoningContent   string `json:"reasoning_content"`
			ToolCalls          []struct {
				ID       string
				Function struct{ Arguments string }
			} `json:"tool_calls"`
		}
	}
	Usage *struct {
		Prompt  int `json:"prompt_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

func (c *chat) say(ctx context.Context, text string, user bool) (s said, err error) {
	result := text
	if c.quoted {
		result = shortResult
	}
	if !user {
		c.messages = append(c.messages, object{"role": "tool", "tool_call_id": c.call, "content": result})
	}
	if user || c.quoted {
		c.messages = append(c.messages, object{"role": "user", "content": text})
	}
	answer, err := post(ctx, c.url, object{"model": c.model, "messages": c.messages, "max_tokens": maxTokens,
		"stream": true, "stream_options": object{"include_usage": true},
		"tools": []any{object{"type": "function", "function": object{"name": tool, "parameters": parameters}}}})
	if err != nil {
		return s, err
	}
	key := "reasoning"
	for line := range strings.Lines(string(answer)) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var one chunk
		if err := json.Unmarshal([]byte(data), &one); err != nil {
			return s, fmt.Errorf("%w: %.200s", err, data)
		}
		if one.Usage != nil {
			s.prompt, s.cached = one.Usage.Prompt, one.Usage.Details.Cached
		}
		for _, choice := range one.Choices {
			d := choice.Delta
			if d.Reasoning == "" && d.ReasoningContent != "" {
				key, d.Reasoning = "reasoning_content", d.ReasoningContent
			}
			s.reasoning, s.final = s.reasoning+d.Reasoning, s.final+d.Content
			for _, call := range d.ToolCalls {
				s.arguments += call.Function.Arguments
				if call.ID != "" {
					c.call = call.ID
				}
			}
		}
	}
	message := object{"role": "assistant", "content": s.final, key: s.reasoning}
	if s.arguments != "" {
		message["content"], message["tool_calls"] = nil, []any{object{"id": c.call, "type": "function",
			"function": object{"name": tool, "arguments": s.arguments}}}
	}
	c.messages = append(c.messages, message)
	return s, nil
}

// responses is a client of Responses. It sends back all items as they came, or, if stored, the id of the last response.
type responses struct {
	// name is the loop's.
	url, model, name string
	include          []string
	stored           bool
	quoted           bool // see [chat]
	items            []any
	call, last       string
}

func (c *responses) say(ctx context.Context, text string, user bool) (s said, err error) {
	result := text
	if c.quoted {
		result = shortResult
	}
	if !user {
		c.items = append(c.items, object{"type": "function_call_output", "call_id": c.call, "output": result})
	}
	if user || c.quoted {
		c.items = append(c.items, object{"role": "user", "content": text})
	}
	request := object{"model": c.model, "input": c.items, "max_output_tokens": maxTokens, "store": c.stored,
		"instructions": instructionsOf(c.name),
		"tools":        []any{object{"type": "function", "name": tool, "parameters": parameters}}}
	if len(c.include) > 0 {
		request["include"] = c.include
	}
	if c.last != "" {
		request["previous_response_id"] = c.last
	}
	var answer struct {
		ID     string
		Status string
		Output []json.RawMessage
		Usage  struct {
			Input   int `json:"input_tokens"`
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"input_tokens_details"`
		}
	}
	body, err := post(ctx, c.url+"/v1/responses", request)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return s, err
	}
	s = said{prompt: answer.Usage.Input, cached: answer.Usage.Details.Cached}
	for _, raw := range answer.Output {
		if err := c.read(raw, &s); err != nil {
			return s, err
		}
	}
	if c.stored {
		c.items, c.last = nil, answer.ID
	}
	return s, nil
}

// read takes an item of an answer over.
func (c *responses) read(raw json.RawMessage, s *said) error {
	var item struct {
		Type, Arguments string
		CallID          string `json:"call_id"`
		Content         []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &item); err != nil {
		return err
	}
	var text strings.Builder
	for _, part := range item.Content {
		text.WriteString(part.Text)
	}
	switch item.Type {
	case "reasoning":
		s.reasoning = text.String()
	case "function_call":
		s.arguments, c.call = item.Arguments, item.CallID
	default:
		s.final += text.String()
	}
	c.items = append(c.items, raw)
	return nil
}
