package tokenizer_test

import (
	"fmt"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// Text of users is only text. Text that the program itself has written may hold control tokens.
func ExampleTokenizer() {
	t := o200k.Tokenizer()
	fmt.Println(t.AppendEncode(nil, "<|end|>"))
	fmt.Println(t.AppendEncodeSpecial(nil, "<|end|>"))
	fmt.Println(tokenizer.SpecialName(tokenizer.End))
	// Output:
	// [27 91 419 91 29]
	// [200007]
	// <|end|> true
}

// A stream of tokens is decoded into whole characters: a token may hold a part of one.
func ExampleDecoder() {
	t := o200k.Tokenizer()
	var d tokenizer.Decoder
	for _, id := range t.AppendEncode(nil, "a🜚b") {
		fmt.Printf("%d %q\n", id, d.Append(nil, t, id))
	}
	fmt.Printf("%q\n", d.Flush(nil))
	// Output:
	// 64 "a"
	// 4103 ""
	// 250 ""
	// 248 "🜚"
	// 65 "b"
	// ""
}
