package completion_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/completion"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// generate stands in for a model in this program. Its last token is a stop token.
func generate(_ []uint32) []uint32 {
	return o200k.Tokenizer().AppendEncodeSpecial(nil,
		"<|channel|>analysis<|message|>A greeting.<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>")
}

// The body of a Chat Completions request becomes a prompt in token ids, and the model's tokens become chunks.
func Example() {
	translator := completion.New(completion.Options{
		Tokenizer: o200k.Tokenizer(),
		Model:     completion.GPTOSS("gpt-oss-120b"),
		// Real programs leave out Now and NewID.
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		NewID: func() string { return "0123456789abcdef01234567" },
	})
	c, err := translator.Chat([]byte(`{"model":"gpt-oss-120b","stream":true,"messages":[{"role":"user","content":"Hi"}]}`))
	if err != nil {
		log.Fatal(err) // a *completion.Error, with a status and a body for the client
	}
	fmt.Println(len(c.Prompt), "tokens, then the model writes until", c.StopTokens)

	send := func(chunk []byte, err error) {
		if err != nil {
			log.Fatal(err)
		}
		for line := range strings.Lines(string(chunk)) {
			if _, delta, found := strings.Cut(line, `"delta":`); found {
				delta, _, _ = strings.Cut(delta, `,"logprobs"`)
				fmt.Println(delta)
			}
		}
	}
	for _, id := range generate(c.Prompt) {
		send(c.Write(0, id))
	}
	send(c.End(0, completion.Stopped))
	fmt.Println(c.ContentType(), c.Usage())
	// Output:
	// 68 tokens, then the model writes until [200002 200012]
	// {"role":"assistant","content":"","reasoning":null,"reasoning_content":null}
	// {"reasoning":"A","reasoning_content":"A"}
	// {"reasoning":" greeting","reasoning_content":" greeting"}
	// {"reasoning":".","reasoning_content":"."}
	// {"content":"Hello","reasoning":null,"reasoning_content":null}
	// {"content":"!","reasoning":null,"reasoning_content":null}
	// {"content":"","reasoning":null,"reasoning_content":null}
	// text/event-stream {68 15 3}
}
