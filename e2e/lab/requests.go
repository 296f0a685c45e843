//go:build e2e

package lab

import (
	"encoding/json"
	"fmt"
)

// Paths of the API.
const (
	ChatPath      = "/v1/chat/completions"
	ResponsesPath = "/v1/responses"
	MessagesPath  = "/v1/messages"
	RawPath       = "/v1/completions"
)

// ChatBody returns a Chat request with one message.
func ChatBody(model, text string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%s}]}`, model, Quote(text))
}

// ResponsesBody returns a Responses request with one input.
func ResponsesBody(model, text string) string {
	return fmt.Sprintf(`{"model":%q,"input":%s}`, model, Quote(text))
}

// MessagesBody returns a request to Messages with one message.
func MessagesBody(model, text string) string {
	return fmt.Sprintf(`{"model":%q,"max_tokens":1000,"messages":[{"role":"user","content":%s}]}`, model, Quote(text))
}

// BodyOf returns a request to a path with one message or one input.
func BodyOf(path, model, text string) string {
	switch path {
	case ResponsesPath:
		return ResponsesBody(model, text)
	case MessagesPath:
		return MessagesBody(model, text)
	}
	return ChatBody(model, text)
}

// Quote returns text as a JSON string.
func Quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
