// Command faults sends requests to servers that fail, through OpenAI's client for Go with its default retries, and
// prints what the client makes of each. usage: faults BASE_URL < JSON, a list of {row, api, fault, model}. For each it
// prints a line of JSON: the number of events or chunks, the type of the last one, and the stream's error, if any.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

type task struct{ Row, API, Fault, Model string }

type seen struct {
	Row    string `json:"row"`
	Pieces int    `json:"pieces"`
	Last   string `json:"last"`
	Error  string `json:"error"`
}

func main() {
	var tasks []task
	if err := json.NewDecoder(os.Stdin).Decode(&tasks); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	results := make([]chan seen, len(tasks))
	for i, t := range tasks {
		results[i] = make(chan seen, 1)
		go func() { results[i] <- run(os.Args[1], t) }()
	}
	for _, result := range results {
		_ = json.NewEncoder(os.Stdout).Encode(<-result)
	}
}

func run(url string, t task) seen {
	client := openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("none"),
		option.WithHeader("x-row", t.Row), option.WithHeader("x-sim-fault", t.Fault))
	s := seen{Row: t.Row}
	if t.API == "chat" {
		stream := client.Chat.Completions.NewStreaming(context.Background(), openai.ChatCompletionNewParams{
			Model: t.Model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hi")},
		})
		for stream.Next() {
			s.Pieces++
		}
		s.Error = kind(stream.Err())
		return s
	}
	stream := client.Responses.NewStreaming(context.Background(), responses.ResponseNewParams{
		Model: t.Model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hi")},
	})
	for stream.Next() {
		s.Pieces++
		s.Last = stream.Current().Type
	}
	s.Error = kind(stream.Err())
	return s
}

func kind(err error) string {
	var refused *openai.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return "*openai.Error"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "io.ErrUnexpectedEOF"
	default:
		return fmt.Sprintf("%T", err)
	}
}
