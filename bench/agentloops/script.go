package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// tool is the name of the function that the agent calls.
const tool = "shell"

// turn is one answer of the model, and the message that makes it give that answer.
type turn struct {
	// text is of the message before the answer: a user's in the first turn and after a final answer, else a tool's result.
	text string
	// ids are the answer, as the model samples it.
	ids []uint32
	// The answer has reasoning, and then either a call with arguments or a final text.
	reasoning, arguments, final string
}

// The users' messages of a loop: before these turns, counted from 0, the turn before has its final answer. They are
// those of a recorded session of 43 turns.
var questions = map[int]bool{0: true, 13: true, 25: true, 36: true}

// Sizes of an answer's parts, in words. A word of these is about one token.
const (
	reasoningWords = 45
	argumentWords  = 225
	finalWords     = 150
)

// turnsOf returns the turns of a loop. The seed makes its words; loops of different seeds have nothing in common. odd
// ends reasoning and arguments with two spaces, which the model writes as two tokens: the encoder has one for both.
func turnsOf(n int, seed uint64, odd bool) ([]turn, error) {
	words := &writer{rand.New(rand.NewPCG(seed, 39))}
	all := make([]turn, n)
	for i := range all {
		t := &all[i]
		t.reasoning = words.sentence(reasoningWords)
		if odd {
			t.reasoning += "  "
		}
		script := "<|channel|>analysis<|message|>" + t.reasoning + "<|end|><|start|>assistant<|channel|>"
		if questions[i+1] {
			t.final = words.sentence(finalWords)
			script += "final<|message|>" + t.final + "<|return|>"
		} else {
			arguments, err := json.Marshal(map[string]string{"cmd": words.sentence(argumentWords)})
			if err != nil {
				return nil, err
			}
			t.arguments = string(arguments)
			if odd {
				t.arguments += "  "
			}
			script += "commentary to=functions." + tool + " <|constrain|>json<|message|>" + t.arguments + "<|call|>"
		}
		var err error
		if t.text, t.ids, err = carry(script); err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
	}
	return all, nil
}

// writer makes up text.
type writer struct{ random *rand.Rand }

var vocabulary = strings.Fields("the file of a test is read in two steps and then each line has its own place while old " +
	"names stay where they were before so that no other part can see what changed here after all builds ran again")

func (w *writer) sentence(words int) string {
	all := make([]string, words)
	for i := range all {
		all[i] = vocabulary[w.random.IntN(len(vocabulary))]
	}
	return strings.Join(all, " ")
}

// carry returns the text of a message that the scripted model answers with the script, and the answer's ids. Unlike
// [engines.Text] it takes a script that the text spells in other tokens than the encoder would.
func carry(script string) (text string, ids []uint32, err error) {
	t := o200k.Tokenizer()
	text = script
	specials := map[uint32]uint32{}
	for name, letter := range engines.Letters() {
		text = strings.ReplaceAll(text, name, letter)
		specials[t.AppendEncode(nil, letter)[0]] = t.AppendEncodeSpecial(nil, name)[0]
	}
	ids = t.AppendEncode(nil, text)
	room := engines.Distance() - len(t.AppendEncodeSpecial(nil, engines.GenerationPrompt))
	if len(ids) > room {
		return "", nil, fmt.Errorf("a script of %d tokens, and room for %d", len(ids), room)
	}
	text += strings.Repeat(" x", room-len(ids))
	if got := len(t.AppendEncode(nil, text)); got != room {
		return "", nil, fmt.Errorf("the text has %d tokens, want %d", got, room)
	}
	for i, id := range ids {
		if special, ok := specials[id]; ok {
			ids[i] = special
		}
	}
	return text, ids, nil
}

// added returns how many ids the messages before a turn add to its prompt, with the beginning of the answer.
func (t *turn) added(user, quoted bool) int {
	const result = "<|start|>functions." + tool + " to=assistant<|channel|>commentary<|message|>"
	before := result
	switch {
	case user:
		before = "<|start|>user<|message|>"
	case quoted:
		before = result + `"` + shortResult + `"<|end|><|start|>user<|message|>`
	}
	v := o200k.Tokenizer()
	ids := v.AppendEncodeSpecial(nil, before)
	return len(v.AppendEncodeSpecial(v.AppendEncode(ids, t.text), engines.GenerationPrompt))
}
