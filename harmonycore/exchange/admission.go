package exchange

import (
	"math"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// The most memory that reading a request takes, in bytes, garbage included: for the request, for each byte of its body,
// for each byte of its tools, and for each of its JSON values. Tools are written again for the prompt and for the
// server. e2e/hostile checks these numbers with every family of its requests.
const (
	memoryPerRequest  = 256 << 10
	memoryPerByte     = 3
	memoryPerToolByte = 10
	memoryPerValue    = 512
	// memoryPerBroken is for each byte of a body whose spellings of control tokens are broken: its texts without escapes,
	// and twice the request with them broken.
	memoryPerBroken = 5
)

// memoryFor returns the most memory that reading a request may take, in bytes, without the body itself.
func memoryFor(size, values int) int {
	return memoryPerRequest + memoryPerByte*size + memoryPerToolByte*min(size, openai.MaxTools) + memoryPerValue*values
}

// freeValues returns how many values of a request take no memory of their own. Those are the ids of a list of tokens.
func (r reading) freeValues(model *Model) int {
	if r.ids {
		return model.ContextLength
	}
	return 0
}

// maxValues returns how many values of a body may be read before the body is certain to be refused for their number. A
// body that may be sent unchanged, to another server or to the model's own, is read to its end.
func (g *Gateway) maxValues(body []byte, kind reading) int {
	if passes := kind.mayPass && g.spares; passes || g.passesOtherModels() {
		model := g.model(openai.Named(body))
		if model == nil && g.passesOtherModels() || model != nil && passes && model.TranslatedShare() == 0 {
			return math.MaxInt
		}
	}
	free := 0
	for i := range g.models {
		free = max(free, kind.freeValues(&g.models[i]))
		if g.models[i].Answers.TokenIDs {
			free = max(free, len(body)/2) // the history may hold nothing but ids, and each takes a digit and a comma
		}
	}
	return openai.MaxValues + free
}
