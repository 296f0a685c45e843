package inspect

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// appendTurns appends, for each turn of the assistant with calls in a prompt, its ids and how many of them a server
// computes again that has kept what the model wrote, if calls are rendered as the chat template does. sampled and
// template are the prompt in the two forms.
func appendTurns(dst []byte, sampled, template []uint32) []byte {
	written, rendered := callTurns(sampled), callTurns(template)
	dst = append(dst, '[')
	for i := range min(len(written), len(rendered)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		same := 0
		for same < min(len(written[i]), len(rendered[i])) && written[i][same] == rendered[i][same] {
			same++
		}
		dst = rawjson.AppendInt(append(dst, `{"ids":`...), int64(len(rendered[i])))
		dst = rawjson.AppendInt(append(dst, `,"again":`...), int64(len(rendered[i])-same))
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// callTurns returns the assistant's messages between those of others, each row as one piece, where a call is among them.
func callTurns(prompt []uint32) (turns [][]uint32) {
	from := -1
	for at := 0; at < len(prompt); {
		end := len(prompt)
		if next := slices.Index(prompt[at+1:], tokenizer.Start); next >= 0 {
			end = at + 1 + next
		}
		assistant := at+1 < end && prompt[at+1] == assistantID
		if assistant && from < 0 {
			from = at
		}
		if from >= 0 && (!assistant || end == len(prompt)) {
			if slices.Contains(prompt[from:at], tokenizer.Call) {
				turns = append(turns, prompt[from:at])
			}
			from = -1
		}
		at = end
	}
	return turns
}

// assistantID is the word assistant (docs/harmony-format.md#tokens).
const assistantID = 173781
