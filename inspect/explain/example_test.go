package explain_test

import (
	"log"
	"os"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect/explain"
)

// A stream of token ids becomes a transcript for people.
func Example() {
	ids, err := explain.ReadIDs(strings.NewReader("[200005,17196,200008,12194,200002]"))
	if err != nil {
		log.Fatal(err)
	}
	if err := explain.Write(os.Stdout, o200k.Tokenizer(), ids, explain.Options{Width: 80}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// #1 assistant  channel final  [tokens 0-4]
	//     200005 <|channel|>  17196 "final"  200008 <|message|>  12194 "Hi"
	//     200002 <|return|>
	//   | Hi
	// 1 message, 5 tokens, no recoveries
}

// Messages that are not made of tokens are printed in the same layout.
func ExampleTranscript() {
	t := explain.NewTranscript(os.Stdout, explain.Options{Width: 80})
	t.Heading("a conversation", "")
	t.Message(&explain.Message{Author: "assistant", Fields: []explain.Field{{Name: "to", Value: "time.now"}},
		Parts: []explain.Part{{Text: "{}"}, {Label: "output", Text: "12:00"}}})
	if err := t.Flush(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// == a conversation
	// #1 assistant  to time.now
	//   | {}
	//   output:
	//   | 12:00
}
