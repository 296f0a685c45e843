package completion_test

import (
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/completion"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// A Responses request without a stream gets the whole answer after the model has stopped.
func ExampleTranslator_Responses() {
	translator := completion.New(completion.Options{
		Tokenizer: o200k.Tokenizer(), Model: completion.GPTOSS("gpt-oss-120b"),
		NewID: func() string { return "0123456789abcdef01234567" },
	})
	c, err := translator.Responses([]byte(`{"model":"gpt-oss-120b","input":"What is the weather in Paris?","tools":[
		{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	ids := o200k.Tokenizer().AppendEncodeSpecial(nil,
		`<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>`)
	if _, err := c.Write(0, ids...); err != nil {
		log.Fatal(err)
	}
	response, err := c.End(0, completion.Stopped)
	if err != nil {
		log.Fatal(err)
	}
	_, output, _ := strings.Cut(string(response), `"output":[`)
	output, _, _ = strings.Cut(output, `]`)
	fmt.Println(strings.ReplaceAll(output, `,"`, "\n,\""))
	// Output:
	// {"id":"fc_0123456789abcdef01234567_0"
	// ,"type":"function_call"
	// ,"status":"completed"
	// ,"arguments":"{\"city\":\"Paris\"}"
	// ,"call_id":"call_0123456789abcdef01234567_0"
	// ,"name":"get_weather"}
}

// An invalid request is refused with a status and a body for the client.
func ExampleError() {
	translator := completion.New(completion.Options{
		Tokenizer: o200k.Tokenizer(), Model: completion.GPTOSS("gpt-oss-120b")})
	_, err := translator.Chat([]byte(`{"model":"gpt-oss-120b"}`))
	var refused *completion.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Status)
		fmt.Println(string(refused.Body))
	}
	// Output:
	// 400
	// {"error":{"message":"Missing required parameter: 'messages'.","type":"invalid_request_error","param":"messages","code":"missing_required_parameter"}}
}
