package o200k_test

import (
	"fmt"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// Text becomes ids and text again. Text that spells a control token is text like any other.
func Example() {
	t := o200k.Tokenizer()
	ids := t.AppendEncode(nil, "Hello, world! <|end|>")
	fmt.Println(ids, t.Count("Hello, world!"))
	fmt.Println(t.DecodeString(append(ids, tokenizer.End)))
	// Output:
	// [13225 11 2375 0 464 91 419 91 29] 4
	// Hello, world! <|end|><|end|>
}
