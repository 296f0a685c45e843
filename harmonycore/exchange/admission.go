package exchange

import (
	"math"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// What reading a request takes of the memory at most, in bytes, garbage included: for itself, for each of its body's
// bytes, for each byte of its tools, and for each of the JSON values in it. Tools are written anew, for the prompt and
// for the server. e2e/hostile holds every family of its requests against it.
const (
	memoryPerRequest  = 256 << 10
	memoryPerByte     = 3
	memoryPerToolByte = 10
	memoryPerValue    = 512
)

// memoryFor is the memory that a request may take while it is read, in bytes. The body itself is not in it.
func memoryFor(size, values int) int {
	return memoryPerRequest + memoryPerByte*size + memoryPerToolByte*min(size, openai.MaxTools) + memoryPerValue*values
}

// freeValues is how many values of a request take no memory of their own: the ids of a list of tokens.
func (r reading) freeValues(model *Model) int {
	if r.ids {
		return model.ContextLength
	}
	return 0
}

// maxValues is how many values of a body may be read before it is certain to be refused for their number. A body that
// is for another server, which may be given it as it came, is read to its end.
func (g *Gateway) maxValues(body []byte, how reading) int {
	if g.passesOtherModels() && g.model(openai.Named(body)) == nil {
		return math.MaxInt
	}
	free := 0
	for i := range g.models {
		free = max(free, how.freeValues(&g.models[i]))
	}
	return openai.MaxValues + free
}
