package harmony_test

import (
	"fmt"
	"log"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// printer prints messages as they come.
type printer struct{}

func (printer) Open(h harmony.Header)      { fmt.Printf("%s: ", h.Channel) }
func (printer) Content(text []byte, _ int) { fmt.Printf("%s", text) }
func (printer) Close(harmony.End)          { fmt.Println() }

// A conversation becomes a prompt, and what the model answers becomes messages.
func Example() {
	conversation := &harmony.Conversation{Messages: []harmony.Message{
		{Role: harmony.User, Content: harmony.Text("What is 2 + 2?")},
	}}
	renderer := harmony.NewRenderer(o200k.Tokenizer())
	prompt, err := renderer.AppendCompletion(nil, conversation, harmony.Assistant, harmony.DropReference)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(prompt)

	answer := o200k.Tokenizer().AppendEncodeSpecial(nil,
		"<|channel|>analysis<|message|>Simple.<|end|><|start|>assistant<|channel|>final<|message|>2 + 2 = 4.<|return|>")
	parser := harmony.NewStreamParser(o200k.Tokenizer(), printer{})
	for _, id := range answer {
		parser.Process(id)
	}
	parser.Finish()
	// Output:
	// [200006 1428 200008 4827 382 220 17 659 220 17 30 200007 200006 173781]
	// analysis: Simple.
	// final: 2 + 2 = 4.
}
