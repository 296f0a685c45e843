package chat

import (
	"context"
	"encoding/json"
	"errors"
)

// responsesAPI is Responses. The client keeps the conversation: every item that came back is sent again.
type responsesAPI struct {
	api
	items []json.RawMessage
}

func (c *responsesAPI) add(item any) {
	text, err := json.Marshal(item)
	if err != nil {
		text = []byte("null") // maps of strings can always be marshalled
	}
	c.items = append(c.items, text)
}

func (c *responsesAPI) say(text string) { c.add(map[string]string{"role": "user", "content": text}) }

func (c *responsesAPI) result(of call, text string) {
	c.add(map[string]string{"type": "function_call_output", "call_id": of.id, "output": text})
}

func (c *responsesAPI) conversation() any { return c.items }

func (c *responsesAPI) forget() { c.items = nil }

// event is what is read of an event.
type event struct {
	Type     string
	Delta    string
	Message  string
	Code     any
	Item     struct{ Type, Name string }
	Response struct {
		Output            []json.RawMessage
		Error             *apiError
		IncompleteDetails struct{ Reason string } `json:"incomplete_details"`
	}
}

func (c *responsesAPI) answer(ctx context.Context, show func(lane, string)) (all []call, err error) {
	body := map[string]any{"model": c.model, "stream": true, "store": false, "input": c.items}
	if c.effort != "" {
		body["reasoning"] = map[string]string{"effort": c.effort}
	}
	if c.instructions != "" {
		body["instructions"] = c.instructions
	}
	if tools := c.toolsFor(true); len(tools) > 0 {
		body["tools"] = tools
	}
	ended, called := false, 0
	var output []json.RawMessage
	err = c.stream(ctx, "/v1/responses", body, func(data []byte) error {
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return err
		}
		switch e.Type {
		case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
			show(reasoning, e.Delta)
		case "response.output_text.delta", "response.refusal.delta":
			show(answer, e.Delta)
		case "response.output_item.added":
			if e.Item.Type == "function_call" {
				show(calls, nextCall(&called)+e.Item.Name)
			}
		case "response.function_call_arguments.delta":
			show(calls, e.Delta)
		case "error":
			return &apiError{Message: e.Message, Code: e.Code}
		case "response.failed":
			if e.Response.Error != nil {
				return e.Response.Error
			}
			return errors.New("the response failed")
		case "response.completed", "response.incomplete":
			ended, output = true, e.Response.Output
		}
		return nil
	})
	if err == nil && !ended {
		err = errCut
	}
	if err != nil {
		return nil, err
	}
	c.items = append(c.items, output...)
	for _, item := range output {
		var one struct {
			Type, Name string
			CallID     string `json:"call_id"`
		}
		if json.Unmarshal(item, &one) == nil && one.Type == "function_call" {
			all = append(all, call{one.CallID, one.Name})
		}
	}
	return all, nil
}
