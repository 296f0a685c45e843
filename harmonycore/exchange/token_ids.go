package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// checkTokenIDs refuses what the client cannot have while its answers have the ids of their tokens.
func checkTokenIDs(model *Model, r *translate.Request) *openai.Error {
	kind := model.Kind.Facts()
	switch {
	case r.TokenIDs() == nil:
		return nil
	case !kind.TracesTokens():
		return openai.Unsupported("model", "Unsupported model: its operator set answers.token_ids. The model's servers ("+
			kind.Name+") do not send the ids of their tokens with the logprobs.")
	case r.Choices > 1:
		return openai.Unsupported("n", "Unsupported value: 'n' can only be 1, because this model's answers have the ids "+
			"of their tokens.")
	}
	return nil
}
