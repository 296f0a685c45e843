//go:build e2e

package service

import (
	"encoding/json"
	"slices"
	"strings"
)

// Response is what the tests read of a Response object.
type Response struct {
	ID, Status         string
	Store, Background  bool
	PreviousResponseID *string              `json:"previous_response_id"`
	Conversation       *struct{ ID string } `json:"conversation"`
	Error              *struct{ Code, Message string }
	Output             []Item
	Usage              *Usage
	// Incomplete says why the response is incomplete.
	Incomplete *struct{ Reason string } `json:"incomplete_details"`
	Tools      json.RawMessage
}

// Usage is what the tests read of a usage.
type Usage struct {
	InputTokens   int `json:"input_tokens"`
	OutputTokens  int `json:"output_tokens"`
	TotalTokens   int `json:"total_tokens"`
	OutputDetails struct {
		ReasoningTokens  int `json:"reasoning_tokens"`
		ToolOutputTokens int `json:"tool_output_tokens"`
	} `json:"output_tokens_details"`
}

// Item is what the tests read of an item.
type Item struct {
	ID, Type, Role, Status, Phase string
	Content                       []Content
	Arguments, Name               string
	CallID                        string `json:"call_id"`
	EncryptedContent              string `json:"encrypted_content"`
	// The members of items of hosted tools.
	ServerLabel       string `json:"server_label"`
	ApprovalRequestID string `json:"approval_request_id"`
	Output, Error     json.RawMessage
	Tools             []Tool
	Action            json.RawMessage
	Code              string
	Outputs           []struct{ Type, Logs string }
}

// UnmarshalJSON implements [json.Unmarshaler]. The arguments of a search for tools are an object: here, its JSON.
func (i *Item) UnmarshalJSON(raw []byte) error {
	type item Item
	read := struct {
		*item
		Arguments json.RawMessage
	}{item: (*item)(i)}
	if err := json.Unmarshal(raw, &read); err != nil || read.Arguments == nil {
		return err
	}
	if read.Arguments[0] == '{' {
		i.Arguments = string(read.Arguments)
		return nil
	}
	return json.Unmarshal(read.Arguments, &i.Arguments)
}

// Tool is one of a list of tools.
type Tool struct {
	Name, Description string
	InputSchema       json.RawMessage `json:"input_schema"`
}

// Content is a part of a message or of a reasoning.
type Content struct {
	Type, Text  string
	Annotations []Annotation
}

// Annotation is a citation in a text.
type Annotation struct {
	Type, URL, Title string
	StartIndex       int `json:"start_index"`
	EndIndex         int `json:"end_index"`
}

// Code returns the code of the error, or an empty string.
func (r *Response) Code() string {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

// Text returns the text of the answer.
func (r *Response) Text() string {
	for _, i := range r.Output {
		if i.Type == "message" && len(i.Content) > 0 {
			return i.Content[0].Text
		}
	}
	return ""
}

// Types returns the types of the items of the answer.
func (r *Response) Types() string { return typesOf(r.Output) }

// Of returns the items of a type.
func (r *Response) Of(kind string) []Item {
	return slices.DeleteFunc(slices.Clone(r.Output), func(i Item) bool { return i.Type != kind })
}

func typesOf(items []Item) string {
	var types []string
	for _, i := range items {
		types = append(types, i.Type)
	}
	return strings.Join(types, " ")
}

// List is a page of items.
type List struct {
	Data    []Item
	FirstID string `json:"first_id"`
	LastID  string `json:"last_id"`
	HasMore bool   `json:"has_more"`
}

// Texts returns the text of each item, or its type.
func (l *List) Texts() string {
	var texts []string
	for _, i := range l.Data {
		switch {
		case len(i.Content) > 0:
			texts = append(texts, i.Content[0].Text)
		default:
			texts = append(texts, i.Type)
		}
	}
	return strings.Join(texts, "|")
}

// Types returns the types of the items.
func (l *List) Types() string { return typesOf(l.Data) }
