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
type client struct {
	url, model string
	// instructions differ by their beginning from loop to loop, so that no loop finds another's prompt cached.
	instructions string
	// chat reports whether it uses Chat Completions, and not Responses.
	chat bool
	// stored reports whether it sends the id of the last response. Otherwise it sends back all items as they came.
	stored bool
	// include is the member of the same name of Responses.
	include []string
	// quoted reports whether the server shows the model results as JSON strings. The script would be lost in one, so a
	// user's message after the result carries it.
	quoted bool

	// history are the messages of Chat, or the items of Responses that the next request sends.
	history    []any
	call, last string // the ids of the last call and of the last response
}

// said is what a client sees of an answer.
type said struct {
	reasoning, arguments, final string
	prompt, cached              int
}

// shortResult is the result of a call where a user's message carries the script.
const shortResult = "done"

type object = map[string]any

// say sends a user's text, or the result of the last call, and returns the answer.
func (c *client) say(ctx context.Context, text string, user bool) (said, error) {
	if !user {
		result := text
		if c.quoted {
			result = shortResult
		}
		if c.chat {
			c.history = append(c.history, object{"role": "tool", "tool_call_id": c.call, "content": result})
		} else {
			c.history = append(c.history, object{"type": "function_call_output", "call_id": c.call, "output": result})
		}
	}
	if user || c.quoted {
		c.history = append(c.history, object{"role": "user", "content": text})
	}
	if c.chat {
		return c.askChat(ctx)
	}
	return c.askResponses(ctx)
}

var parameters = json.RawMessage(`{"type":"object","properties":{"cmd":{"type":"string"}},"required":["cmd"]}`)

// once has a connection for each request: llama.cpp closes that of a stream when it is used again.
var once = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// post sends a request, and returns the answer.
func (c *client) post(ctx context.Context, path string, body any) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(data))
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
		err = fmt.Errorf("%s: status %d: %.1000s", path, response.StatusCode, text)
	}
	return text, err
}

// chunk is an event of a stream of Chat.
type chunk struct {
	Choices []struct {
		Delta struct {
			Content, Reasoning string
			ReasoningContent   string `json:"reasoning_content"`
			ToolCalls          []struct {
				ID       string
				Function struct{ Arguments string }
			} `json:"tool_calls"`
			tokens
		}
	}
	Usage *struct {
		Prompt  int `json:"prompt_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// tokens are the members of an answer with token ids.
type tokens struct {
	Prompt    json.RawMessage `json:"prompt_token_ids"`
	Generated json.RawMessage `json:"generation_token_ids"`
	Logprobs  json.RawMessage `json:"generation_log_probs"`
}

// askChat asks for a stream, as agents do, and keeps the message with its reasoning, under the name that it came by, and
// with its token ids, if there are any. It does not use whole answers: vLLM's own are not what the model wrote.
func (c *client) askChat(ctx context.Context) (s said, err error) {
	messages := append([]any{object{"role": "system", "content": c.instructions}}, c.history...)
	answer, err := c.post(ctx, "/v1/chat/completions", object{"model": c.model, "messages": messages,
		"max_tokens": maxTokens, "stream": true, "stream_options": object{"include_usage": true},
		"tools": []any{object{"type": "function", "function": object{"name": tool, "parameters": parameters}}}})
	if err != nil {
		return s, err
	}
	message := object{"role": "assistant"}
	reasoning := "reasoning"
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
				reasoning, d.Reasoning = "reasoning_content", d.ReasoningContent
			}
			s.reasoning, s.final = s.reasoning+d.Reasoning, s.final+d.Content
			for _, call := range d.ToolCalls {
				s.arguments += call.Function.Arguments
				if call.ID != "" {
					c.call = call.ID
				}
			}
			if d.Generated != nil {
				message["prompt_token_ids"], message["generation_token_ids"] = d.Prompt, d.Generated
				message["generation_log_probs"] = d.Logprobs
			}
		}
	}
	message["content"], message[reasoning] = s.final, s.reasoning
	if s.arguments != "" {
		message["content"], message["tool_calls"] = nil, []any{object{"id": c.call, "type": "function",
			"function": object{"name": tool, "arguments": s.arguments}}}
	}
	c.history = append(c.history, message)
	return s, nil
}

// askResponses asks for a whole response, and keeps its items, or only its id if it is stored.
func (c *client) askResponses(ctx context.Context) (s said, err error) {
	request := object{"model": c.model, "input": c.history, "max_output_tokens": maxTokens, "store": c.stored,
		"instructions": c.instructions,
		"tools":        []any{object{"type": "function", "name": tool, "parameters": parameters}}}
	if len(c.include) > 0 {
		request["include"] = c.include
	}
	if c.last != "" {
		request["previous_response_id"] = c.last
	}
	var answer struct {
		ID     string
		Output []json.RawMessage
		Usage  struct {
			Input   int `json:"input_tokens"`
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"input_tokens_details"`
		}
	}
	body, err := c.post(ctx, "/v1/responses", request)
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil {
		return s, err
	}
	s.prompt, s.cached = answer.Usage.Input, answer.Usage.Details.Cached
	for _, raw := range answer.Output {
		if err := c.read(raw, &s); err != nil {
			return s, err
		}
	}
	if c.stored {
		c.history, c.last = nil, answer.ID
	}
	return s, nil
}

// read takes an item of an answer over.
func (c *client) read(raw json.RawMessage, s *said) error {
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
	c.history = append(c.history, raw)
	return nil
}
