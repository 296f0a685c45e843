package engines

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// puppetFile describes the model that the programs in the folder puppet write: how many tokens back the model finds the
// next token of its answer, and which letter stands for which control token.
//
//go:embed puppet/puppet.json
var puppetFile []byte

var puppet = sync.OnceValue(func() (p struct {
	Distance int               `json:"distance"`
	Letters  map[string]string `json:"letters"`
}) {
	if err := json.Unmarshal(puppetFile, &p); err != nil {
		panic(err) // the file is a part of this package
	}
	return p
})

// Distance returns how many tokens before the end of a prompt the script begins. A script cannot be longer.
func Distance() int { return puppet().Distance }

// Letters returns the letter that stands for each control token, by the token's spelling.
func Letters() map[string]string { return puppet().Letters }

// GenerationPrompt is the end of a rendered conversation, after the text of its last message.
const GenerationPrompt = "<|end|><|start|>assistant"

// Padding is one token wherever it stands. It merges with no token that ends a script.
const Padding = " x"

// Prompt returns a prompt that the puppet answers with the script. The script ends with a token that ends an answer,
// such as <|return|>. After any other token the puppet writes [Padding], and then repeats all of it. after is the end
// of the prompt.
func Prompt(script []uint32, after string) ([]uint32, error) {
	t := o200k.Tokenizer()
	end := t.AppendEncodeSpecial(nil, after)
	pad := Distance() - len(script) - len(end)
	if pad < 0 {
		return nil, fmt.Errorf("a script of %d tokens and %d after it: the puppet has room for %d",
			len(script), len(end), Distance())
	}
	prompt := append([]uint32(nil), script...)
	prompt = t.AppendEncode(prompt, strings.Repeat(Padding, pad))
	return append(prompt, end...), nil
}

// Text returns the text of a message that the puppet answers with the script. The message must be the last one of a
// prompt, and after must follow it at the prompt's end. The script spells out control tokens. In the result letters
// stand for them.
func Text(script, after string) (string, error) {
	t := o200k.Tokenizer()
	ids := t.AppendEncodeSpecial(nil, script)
	want, err := Prompt(ids, after)
	if err != nil {
		return "", err
	}
	var letters []string
	specials := map[uint32]uint32{}
	for name, letter := range puppet().Letters {
		letters = append(letters, name, letter)
		specials[t.AppendEncode(nil, letter)[0]] = t.AppendEncodeSpecial(nil, name)[0]
	}
	end := t.AppendEncodeSpecial(nil, after)
	text := strings.NewReplacer(letters...).Replace(script) +
		strings.Repeat(Padding, len(want)-len(ids)-len(end))

	// Beside a letter, text may be split into other tokens than beside a control token.
	got := t.AppendEncode(nil, text)
	for i, id := range got {
		if special, ok := specials[id]; ok {
			got[i] = special
		}
	}
	got = append(got, end...)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			return "", fmt.Errorf("the script cannot be sent as text, from its token %d on: the text gives %q, the script is %q",
				i, decodeFrom(t, got, i), decodeFrom(t, want, i))
		}
	}
	return text, nil
}

// decodeFrom returns the text of a few tokens.
func decodeFrom(t *tokenizer.Tokenizer, ids []uint32, at int) string {
	return t.DecodeString(ids[min(at, len(ids)):min(at+8, len(ids))])
}
