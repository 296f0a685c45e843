// Asks a gateway whose server fails, through clients for Go, and prints what their users see.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"
	langchain "github.com/tmc/langchaingo/llms/openai"
)

const model = "gpt-oss-120b"

func goOpenAI(url string) (text string, err error) {
	config := openai.DefaultConfig("none")
	config.BaseURL = url
	stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(context.Background(),
		openai.ChatCompletionRequest{Model: model, Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "Hi"}}})
	if err != nil {
		return "", err
	}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return text, err
		}
		for _, c := range chunk.Choices {
			text += c.Delta.Content
		}
	}
}

func langchaingo(url string) (string, error) {
	client, err := langchain.New(langchain.WithBaseURL(url), langchain.WithToken("none"), langchain.WithModel(model))
	if err != nil {
		return "", err
	}
	answer, err := client.GenerateContent(context.Background(),
		[]llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "Hi")},
		llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))
	if err != nil {
		return "", err
	}
	return answer.Choices[0].Content, nil
}

func main() {
	for _, c := range []struct {
		name string
		ask  func(string) (string, error)
	}{{"go-openai 1.43.0", goOpenAI}, {"langchaingo 0.1.14", langchaingo}} {
		text, err := c.ask(os.Args[1])
		seen := fmt.Sprintf("no error: %q", text)
		if err != nil {
			seen = "raises " + err.Error()
		}
		fmt.Printf("%-22s %-10s %s\n", c.name, "Chat", seen)
	}
}
