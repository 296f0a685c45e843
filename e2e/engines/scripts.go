package engines

import (
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// Script is an answer that the puppet gives.
type Script struct {
	// Name is unique among [Scripts].
	Name string
	// Text is the answer with control tokens spelled. It is empty if only ids can spell the answer.
	Text string
	// IDs are the answer's tokens.
	IDs []uint32
}

func spelled(name, text string) Script { return Script{name, text, Spell(text)} }

// Spell returns the ids of a text in which control tokens are spelled.
func Spell(text string) []uint32 { return o200k.Tokenizer().AppendEncodeSpecial(nil, text) }

// Goose is a character of several tokens, each of which is a part of it.
const Goose = "🪿"

// Scripts are the answers that the tests ask for: everything that a model of this kind is known to write, and some that it should not.
var Scripts = []Script{
	spelled("final", "<|channel|>final<|message|>Hi there.<|return|>"),
	spelled("analysis and final", "<|channel|>analysis<|message|>A greeting.<|end|>"+
		"<|start|>assistant<|channel|>final<|message|>Hello!<|return|>"),
	spelled("empty final", "<|channel|>final<|message|><|return|>"),
	spelled("call", "<|channel|>analysis<|message|>Need the weather.<|end|><|start|>assistant<|channel|>commentary "+
		`to=functions.get_weather <|constrain|>json<|message|>{"city":"Ürümqi"}<|call|>`),
	spelled("recipient before channel", "<|start|>assistant to=functions.get_weather<|channel|>commentary "+
		`<|constrain|>json<|message|>{"city":"Oslo"}<|call|>`),
	spelled("two calls", `<|channel|>commentary to=functions.a <|constrain|>json<|message|>{"n":1}<|call|>`+
		`<|start|>assistant<|channel|>commentary to=functions.b <|constrain|>json<|message|>{"n":2}<|call|>`),
	spelled("preamble and call", "<|channel|>commentary<|message|>I will look.<|end|><|start|>assistant"+
		`<|channel|>commentary to=functions.look <|constrain|>json<|message|>{}<|call|>`),
	spelled("built-in tool", "<|channel|>analysis to=browser.search code<|message|>"+
		`{"query":"proxy-wasm"}<|call|>`),
	spelled("code", "<|channel|>analysis to=python code<|message|>for i in range(3):\n    print(i)\n\n<|call|>"),
	spelled("doubled header", "<|channel|>analysis<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"+
		"<|channel|>final<|message|>Yes.<|return|>"),
	spelled("no header", "Plain text.<|return|>"),
	spelled("end of text", "<|channel|>final<|message|>Cut short<|endoftext|>"),
	spelled("several bytes", "<|channel|>final<|message|>naïve 🧑‍🚀"+Goose+" 𒀀 日本語 हिन्दी end<|return|>"),
	spelled("characters at the end", "<|channel|>final<|message|>"+Goose+Goose+"<|return|>"),
	spelled("lines and tabs", "<|channel|>final<|message|># A\n\n\t- b\r\n\n```go\nx := 1\n```\n<|return|>"),
	spelled("quotes", `<|channel|>final<|message|>"a\b" \u00e9 </s> {"x":[1,2]}`+"\u2028<|return|>"),
	spelled("text that spells a token", "<|channel|>final<|message|>It is <| start |>, not <|begin|>.<|return|>"),
	spelled("long", "<|channel|>final<|message|>"+strings.Repeat("All work and no play. ", 30)+"<|return|>"),
	{Name: "other tokens", IDs: slices.Concat(Spell("<|channel|>final<|message|>"),
		Spell("H"), Spell("e"), Spell("l"), Spell("lo"), Spell("<|return|>"))},
	{Name: "half a character, then the end", IDs: slices.Concat(Spell("<|channel|>final<|message|>A"),
		Spell(Goose)[:1], Spell("<|return|>"))},
	{Name: "half a character, then a call", IDs: slices.Concat(
		Spell("<|channel|>commentary to=functions.a<|message|>A"), Spell(Goose)[:2], Spell("<|call|>"))},
	{Name: "half a character, then text", IDs: slices.Concat(Spell("<|channel|>final<|message|>A"),
		Spell(Goose)[:1], Spell("bc"), Spell("<|return|>"))},
	{Name: "half a character, then a token", IDs: slices.Concat(Spell("<|channel|>analysis<|message|>A"),
		Spell(Goose)[:1], Spell("<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>"))},
}
