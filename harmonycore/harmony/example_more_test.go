package harmony_test

import (
	"fmt"
	"log"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// ids stands for a server's answer in token ids.
func ids(text string) []uint32 { return o200k.Tokenizer().AppendEncodeSpecial(nil, text) }

// A prompt with a system message and a tool, as text.
func ExampleRenderer() {
	schema, err := harmony.ParseSchema([]byte(`{"type":"object","properties":{"city":{"type":"string"}},` +
		`"required":["city"]}`))
	if err != nil {
		log.Fatal(err)
	}
	tool := harmony.ToolDescription{Name: "get_weather", Description: "Tells the weather.", Parameters: schema}
	conversation := &harmony.Conversation{Messages: []harmony.Message{
		{Role: harmony.System, Content: []harmony.Content{{System: &harmony.SystemContent{
			ModelIdentity: harmony.Some("You are ChatGPT, a large language model trained by OpenAI."), Effort: harmony.Low,
		}}}},
		{Role: harmony.Developer, Content: []harmony.Content{{Developer: &harmony.DeveloperContent{
			Instructions: harmony.Some("Be brief."),
			Tools:        []harmony.Namespace{{Key: "functions", Name: "functions", Tools: []harmony.ToolDescription{tool}}},
		}}}},
		{Role: harmony.User, Content: harmony.Text("Is it raining in Paris?")},
	}}
	prompt, err := harmony.NewRenderer(o200k.Tokenizer()).AppendCompletion(
		nil, conversation, harmony.Assistant, harmony.KeepAnalysis)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o200k.Tokenizer().DecodeString(prompt))
	// Output:
	// <|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.
	//
	// Reasoning: low<|end|><|start|>developer<|message|># Instructions
	//
	// Be brief.
	//
	// # Tools
	//
	// ## functions
	//
	// namespace functions {
	//
	// // Tells the weather.
	// type get_weather = (_: {
	// city: string,
	// }) => any;
	//
	// } // namespace functions<|end|><|start|>user<|message|>Is it raining in Paris?<|end|><|start|>assistant
}

// The parser never fails: it repairs what is malformed, and counts it.
func ExampleStreamParser() {
	parser := harmony.NewStreamParser(o200k.Tokenizer(), printer{})
	for _, id := range ids(
		"<|channel|>analysis<|message|>Hm.<|start|>assistant<|channel|>final<|message|>Yes.<|end|><|end|>") {
		parser.Process(id)
	}
	parser.Finish()
	for kind, times := range parser.Recoveries() {
		if times > 0 {
			fmt.Println(harmony.Recovery(kind), times)
		}
	}
	// Output:
	// analysis: Hm.
	// final: Yes.
	// stray_terminator 1
	// missing_end 1
}

// A server that returns text has its text parsed, wherever the network has cut it.
func ExampleTextParser() {
	parser := harmony.NewTextParser(printer{}, harmony.TextOptions{})
	for _, piece := range []string{"<|chan", "nel|>final<|message|>Ye", "s.<|ret", "urn|>"} {
		parser.Write([]byte(piece), 0)
	}
	parser.Finish()
	// Output:
	// final: Yes.
}

// The strict parser refuses what OpenAI's own parser refuses, with the same words.
func ExampleStrictParser() {
	parser := harmony.NewStrictParser(o200k.Tokenizer(), harmony.Assistant, true)
	for _, id := range ids("<|channel|>final<|message|>Yes.<|end|><|end|>") {
		if err := parser.Process(id); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(parser.Messages()[0].Content[0].Text)
	// Output:
	// Unexpected token 200007 while expecting start token 200006
	// Yes.
}

// A whole answer becomes messages. A parser for streams is not needed where all tokens are there.
func ExampleCollect() {
	messages, recoveries := harmony.Collect(o200k.Tokenizer(),
		ids("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>"))
	for _, m := range messages {
		fmt.Println(m.Role, m.Channel.Value, m.Content[0].Text)
	}
	fmt.Println(recoveries.Total(), "repaired")
	// Output:
	// assistant analysis Hm.
	// assistant final Yes.
	// 0 repaired
}

// The content of messages in its order, by what it is to a reader.
func ExampleParts() {
	messages, _ := harmony.Collect(o200k.Tokenizer(), ids("<|channel|>analysis<|message|>Look it up.<|end|>"+
		"<|start|>assistant<|channel|>commentary<|message|>One moment.<|end|>"+
		`<|start|>assistant<|channel|>commentary to=functions.get_weather `+
		`<|constrain|>json<|message|>{"city":"Paris"}<|call|>`))
	for _, part := range harmony.Parts(messages) {
		fmt.Println(part.Kind, part.Name, part.Text)
	}
	// Output:
	// reasoning  Look it up.
	// preamble  One moment.
	// tool_call functions.get_weather {"city":"Paris"}
}

// A conversation in the JSON of OpenAI's openai-harmony.
func ExampleDecodeConversation() {
	conversation, err := harmony.DecodeConversation([]byte(`{"messages":[{"role":"user","content":"Hi"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(conversation.Messages[0].Role, conversation.Messages[0].Content[0].Text)
	fmt.Println(string(harmony.AppendMessages(nil, conversation.Messages)))
	// Output:
	// user Hi
	// [{"role":"user","content":"Hi"}]
}
