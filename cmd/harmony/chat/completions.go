package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
)

// chatAPI is Chat Completions.
type chatAPI struct {
	api
	messages []message
}

type message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Reasoning  string     `json:"reasoning,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (c *chatAPI) say(text string) {
	if len(c.messages) == 0 && c.instructions != "" {
		c.messages = append(c.messages, message{Role: "developer", Content: c.instructions})
	}
	c.messages = append(c.messages, message{Role: "user", Content: text})
}

func (c *chatAPI) result(of call, text string) {
	c.messages = append(c.messages, message{Role: "tool", ToolCallID: of.id, Content: text})
}

func (c *chatAPI) conversation() any { return c.messages }

func (c *chatAPI) forget() { c.messages = nil }

// chunk is what is read of a chunk.
type chunk struct {
	Error   *apiError
	Choices []struct {
		Delta struct {
			Content, Reasoning string
			ToolCalls          []struct {
				Index    int
				ID       string
				Function function
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
}

func (c *chatAPI) answer(ctx context.Context, show func(lane, string)) (all []call, err error) {
	body := map[string]any{"model": c.model, "stream": true, "messages": c.messages}
	if c.effort != "" {
		body["reasoning_effort"] = c.effort
	}
	if tools := c.toolsFor(false); len(tools) > 0 {
		body["tools"] = tools
	}
	m := message{Role: "assistant"}
	var thought, said strings.Builder
	finish, called := "", 0
	err = c.stream(ctx, "/v1/chat/completions", body, func(data []byte) error {
		var one chunk
		if string(data) == "[DONE]" {
			return nil
		}
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		if one.Error != nil {
			return one.Error
		}
		for i := range one.Choices {
			d := &one.Choices[i].Delta
			finish = cmp.Or(one.Choices[i].FinishReason, finish)
			thought.WriteString(d.Reasoning)
			said.WriteString(d.Content)
			show(reasoning, d.Reasoning)
			show(answer, d.Content)
			for _, t := range d.ToolCalls {
				if t.Index >= len(m.ToolCalls) {
					show(calls, nextCall(&called))
					m.ToolCalls = append(m.ToolCalls, toolCall{ID: t.ID, Type: "function"})
				}
				f := &m.ToolCalls[len(m.ToolCalls)-1].Function
				f.Name, f.Arguments = f.Name+t.Function.Name, f.Arguments+t.Function.Arguments
				show(calls, t.Function.Name+t.Function.Arguments)
			}
		}
		return nil
	})
	if err == nil && finish == "" {
		err = errCut
	}
	if err != nil {
		return nil, err
	}
	m.Reasoning, m.Content = thought.String(), said.String()
	if c.messages = append(c.messages, m); finish != "tool_calls" {
		return nil, nil
	}
	for _, t := range m.ToolCalls {
		all = append(all, call{t.ID, t.Function.Name})
	}
	return all, nil
}

// nextCall returns what stands before the next call of an answer: a line end, if it is not the first.
func nextCall(n *int) string {
	*n++
	if *n == 1 {
		return ""
	}
	return "\n"
}
