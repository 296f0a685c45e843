#!/usr/bin/env bash
# Two Go clients and a Chat stream that fails in its middle, as OpenAI-compatible servers send it.
#
# Software: github.com/tmc/langchaingo v0.1.14, github.com/sashabaranov/go-openai v1.43.0 (Go modules). The server sends
# one chunk, then data: {"error":{...}}, then data: [DONE]. It does so once without and once with a line "event: error"
# before the error, which is the name that OpenAI's Responses API gives such an event.
# A good guess: both clients return the error, and the event's name changes nothing.
# Seen: langchaingo returns the half answer as whole, with and without the name. go-openai returns the server's message
# without the name, and "unexpected end of JSON input" with it: the message is lost.
# Consequence: only a reset makes langchaingo fail, and an error event for Chat should have no name.
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	openai "github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"
	lcopenai "github.com/tmc/langchaingo/llms/openai"
)

const half = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Half"},"finish_reason":null}]}` + "\n\n"
const failure = `data: {"error":{"message":"The server has failed.","type":"server_error","code":"server_error","param":null}}` + "\n\n"

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	var ending string
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("content-type", "text/event-stream")
		io.WriteString(w, half+ending)
	}))
	base := "http://" + l.Addr().String() + "/v1"
	for _, name := range []string{"error, [DONE]", "event: error, [DONE]"} {
		ending = failure + "data: [DONE]\n\n"
		if name[:5] == "event" {
			ending = "event: error\n" + ending
		}
		fmt.Printf("%s: langchaingo %s; go-openai %s\n", name, langchain(base), sashabaranov(base))
	}
}

func langchain(base string) string {
	model, err := lcopenai.New(lcopenai.WithToken("k"), lcopenai.WithBaseURL(base), lcopenai.WithModel("m"))
	if err != nil {
		panic(err)
	}
	answer, err := model.GenerateContent(context.Background(),
		[]llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "Hello")},
		llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))
	if err != nil {
		return fmt.Sprintf("fails with <%v>", err)
	}
	return fmt.Sprintf("returns <%s>", answer.Choices[0].Content)
}

func sashabaranov(base string) string {
	config := openai.DefaultConfig("k")
	config.BaseURL = base
	stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(context.Background(),
		openai.ChatCompletionRequest{Model: "m", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "Hello"}}})
	if err != nil {
		panic(err)
	}
	text := ""
	for {
		part, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Sprintf("returns <%s>", text)
		case err != nil:
			return fmt.Sprintf("fails with <%v>", err)
		}
		for _, c := range part.Choices {
			text += c.Delta.Content
		}
	}
}
GO
printf 'module try\n\ngo 1.26\n' >go.mod
go get github.com/tmc/langchaingo@v0.1.14 github.com/sashabaranov/go-openai@v1.43.0 2>/dev/null
go mod tidy 2>/dev/null
seen="$(go run .)"
echo "$seen"
[[ "$seen" == 'error, [DONE]: langchaingo returns <Half>; go-openai fails with <error, The server has failed.>
event: error, [DONE]: langchaingo returns <Half>; go-openai fails with <unexpected end of JSON input>' ]] || {
  echo "This has changed."
  exit 1
}
