//go:build e2e

package lab

import (
	"encoding/json"
	"fmt"
)

const (
	ChatPath      = "/v1/chat/completions"
	ResponsesPath = "/v1/responses"
	RawPath       = "/v1/completions"
)

func ChatBody(model, text string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%s}]}`, model, Quote(text))
}

func ResponsesBody(model, text string) string {
	return fmt.Sprintf(`{"model":%q,"input":%s}`, model, Quote(text))
}

func Quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
