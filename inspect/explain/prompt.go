package explain

import (
	"encoding/json"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Asked is what a server was asked in a recorded request.
type Asked struct {
	// Model is the model, Path the path of the client's request, and Body its body.
	Model, Path string
	Body        json.RawMessage
	// Prompt is the prompt in token ids. It is empty if a server of conversations was asked.
	Prompt []uint32
	// Generated are the tokens that the server generated for the first choice, if the record has their ids.
	Generated []uint32
}

// Asked returns what the last server was asked.
func (q *Request) Asked(t *tokenizer.Tokenizer) Asked {
	asked := Asked{Path: q.head.Path, Body: q.head.Body}
	for _, c := range q.calls {
		if c.sent == nil {
			continue
		}
		asked.Model, asked.Prompt, asked.Generated = c.sent.Model, c.sent.PromptIDs, nil
		if c.sent.PromptText != "" {
			asked.Prompt = t.AppendEncodeSpecial(nil, c.sent.PromptText)
		}
		if len(c.choices) > 0 && !c.choices[0].foreign && len(c.sent.PromptIDs) > 0 {
			asked.Generated = c.choices[0].ids
		}
	}
	return asked
}
