// Command openai-go uses OpenAI's client for Go and its Responses API with a gateway. usage: openai-go BASE_URL MODEL
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// The questions and answers of ../checks.py.
const (
	hello      = "What is an edge?"
	compare    = "Compare the weather in Paris and Rome."
	preamble   = "Paris is mild. Rome is next."
	compared   = "Paris has 21 degrees, Rome has 25."
	followUp   = "Which is warmer?"
	followedUp = "Rome is warmer."
)

var weather = map[string]string{"Paris": "Paris: 21 degrees", "Rome": "Rome: 25 degrees"}

// client is OpenAI's client and the model for its requests.
type client struct {
	openai.Client
	model string
}

func (c client) asks(text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{Model: c.model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: openai-go BASE_URL MODEL")
		os.Exit(2)
	}
	c := client{openai.NewClient(option.WithBaseURL(os.Args[1]), option.WithAPIKey("none"), option.WithMaxRetries(0)),
		os.Args[2]}
	checks := []struct {
		what  string
		check func(context.Context, client) error
	}{
		{"Responses.New: text, reasoning, usage", textTurn},
		{"Responses.NewStreaming: deltas, usage", stream},
		{"Responses.New with a tool: two calls, the final text, a further question", toolLoop(whole)},
		{"Responses.NewStreaming with a tool: the same", toolLoop(streamed)},
		{"a refused request is openai.Error with code and param", wrongRequest},
		{"a stream that is closed", cancelled},
	}
	for _, one := range checks {
		if err := one.check(context.Background(), c); err != nil {
			fmt.Printf("FAILED %s: %v\n", one.what, err)
			os.Exit(1)
		}
		fmt.Printf("ok     %s\n", one.what)
	}
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/openai/openai-go/v3" {
				version = m.Version
			}
		}
	}
	fmt.Printf("%d checks passed with openai-go %s\n", len(checks), version)
}

func whole(ctx context.Context, c client, asked responses.ResponseNewParams) (*responses.Response, error) {
	return c.Responses.New(ctx, asked)
}

// streamed reads a stream to its end, and checks that the deltas add up to the response's text.
func streamed(ctx context.Context, c client, asked responses.ResponseNewParams) (*responses.Response, error) {
	events := c.Responses.NewStreaming(ctx, asked)
	var text string
	var final *responses.Response
	for events.Next() {
		switch event := events.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += event.Delta
		case responses.ResponseCompletedEvent:
			final = &event.Response
		}
	}
	if err := events.Err(); err != nil {
		return nil, err
	}
	if final == nil || text != final.OutputText() {
		return nil, fmt.Errorf("the deltas are %q, the response is %+v", text, final)
	}
	return final, nil
}

var helloAnswer = regexp.MustCompile(`^You said: What is an edge\?\. I read ([0-9]+) tokens\.$`)

func checkHello(r *responses.Response, err error) error {
	if err != nil {
		return err
	}
	read := helloAnswer.FindStringSubmatch(r.OutputText())
	if read == nil || read[1] != strconv.FormatInt(r.Usage.InputTokens, 10) {
		return fmt.Errorf("the answer is %q, the usage %s", r.OutputText(), r.Usage.RawJSON())
	}
	thinks := r.Usage.OutputTokensDetails.ReasoningTokens
	if r.Status != "completed" || thought(r) == "" || thinks == 0 ||
		r.Usage.TotalTokens != r.Usage.InputTokens+r.Usage.OutputTokens {
		return fmt.Errorf("the response is %s", r.RawJSON())
	}
	return nil
}

// thought returns a response's reasoning.
func thought(r *responses.Response) string {
	if len(r.Output) == 0 || r.Output[0].Type != "reasoning" {
		return ""
	}
	return r.Output[0].AsReasoning().Content[0].Text
}

func textTurn(ctx context.Context, c client) error { return checkHello(whole(ctx, c, c.asks(hello))) }
func stream(ctx context.Context, c client) error   { return checkHello(streamed(ctx, c, c.asks(hello))) }

// toolLoop sends back every item that it gets.
func toolLoop(answer func(context.Context, client, responses.ResponseNewParams) (*responses.Response, error)) func(
	context.Context, client) error {
	return func(ctx context.Context, c client) error {
		asked := c.asks("")
		asked.Instructions, asked.Store = openai.String("You are brief."), openai.Bool(false)
		asked.Tools = []responses.ToolUnionParam{responses.ToolParamOfFunction("get_weather", map[string]any{
			"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}},
			"required": []string{"city"},
		}, false)}
		input := responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage(compare, responses.EasyInputMessageRoleUser)}
		var cities, thoughts, said []string
		for len(said) < 3 {
			asked.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: input}
			r, err := answer(ctx, c, asked)
			if err != nil {
				return err
			}
			thoughts, said = append(thoughts, thought(r)), append(said, r.OutputText())
			for _, item := range r.Output {
				switch item := item.AsAny().(type) {
				case responses.ResponseReasoningItem:
					back := item.ToParam()
					input = append(input, responses.ResponseInputItemUnionParam{OfReasoning: &back})
				case responses.ResponseOutputMessage:
					back := item.ToParam()
					input = append(input, responses.ResponseInputItemUnionParam{OfOutputMessage: &back})
				case responses.ResponseFunctionToolCall:
					back := item.ToParam()
					var args struct{ City string }
					if err := json.Unmarshal([]byte(item.Arguments), &args); err != nil || item.Name != "get_weather" {
						return fmt.Errorf("the call is %s", item.RawJSON())
					}
					cities = append(cities, args.City)
					result := responses.ResponseInputItemParamOfFunctionCallOutput(weather[args.City])
					result.OfFunctionCallOutput.CallID = openai.String(item.CallID)
					input = append(input, responses.ResponseInputItemUnionParam{OfFunctionCall: &back}, result)
				}
			}
		}
		if !slices.Equal(cities, []string{"Paris", "Rome"}) || !slices.Equal(said, []string{"", preamble, compared}) ||
			!slices.Equal(thoughts, []string{"First I need Paris.", "Now I need Rome.", "Both cities are known."}) {
			return fmt.Errorf("asked for %q, said %q, thought %q", cities, said, thoughts)
		}
		asked.Input.OfInputItemList = append(input,
			responses.ResponseInputItemParamOfMessage(followUp, responses.EasyInputMessageRoleUser))
		r, err := answer(ctx, c, asked)
		if err == nil && r.OutputText() != followedUp {
			err = fmt.Errorf("the answer to a further question is %q", r.OutputText())
		}
		return err
	}
}

func wrongRequest(ctx context.Context, c client) error {
	c.model = "nobody"
	for _, answer := range []func(context.Context, client, responses.ResponseNewParams) (*responses.Response, error){
		whole, streamed} {
		_, err := answer(ctx, c, c.asks(hello))
		var refused *openai.Error
		if !errors.As(err, &refused) || refused.StatusCode != 404 || refused.Code != "model_not_found" ||
			refused.Param != "model" {
			return fmt.Errorf("the error is %w", err)
		}
	}
	return nil
}

func cancelled(ctx context.Context, c client) error {
	events := c.Responses.NewStreaming(ctx, c.asks(hello), option.WithHeader("x-sim-fault", "stall:12"))
	for events.Next() {
		if events.Current().Type == "response.reasoning_text.delta" {
			return events.Close()
		}
	}
	return fmt.Errorf("no reasoning: %w", events.Err())
}
