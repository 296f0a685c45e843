package translate

import (
	"slices"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// TokenIDs collects what an answer is made of: the ids of the prompt, and each sampled id with its logprob. A client
// that trains the model gets them with the answer (docs/token-ids.md). A nil one collects nothing.
type TokenIDs struct {
	prompt []uint32
	// sampled and logprobs are JSON arrays without their ends. ids and numbers are how many elements they have.
	sampled, logprobs []byte
	ids, numbers      int
}

// TokenIDs returns the collection of the request's answer, or nil if the operator has not configured it.
func (r *Request) TokenIDs() *TokenIDs { return r.ids }

// keepTokenIDs makes the answer collect the ids if the operator has configured it.
func (r *Request) keepTokenIDs(m *contract.Model) {
	if m.Answers.TokenIDs {
		r.ids = &TokenIDs{}
	}
}

// checkTokenIDs checks the ids that the client sends back on one of the elements of a member. They say nothing that the
// model sees.
func (r *Request) checkTokenIDs(ids *openai.TokenIDs, member string, i int) *openai.Error {
	if ids == nil || r.ids == nil {
		return nil
	}
	return ids.Check(member + "[" + strconv.Itoa(i) + "]")
}

// SetPrompt sets the ids of the prompt, unless they are set. It copies them.
func (t *TokenIDs) SetPrompt(ids []uint32) {
	if t.prompt == nil {
		t.prompt = slices.Clone(ids)
	}
}

// Add adds a sampled id.
func (t *TokenIDs) Add(id uint32) {
	t.sampled = strconv.AppendUint(appendComma(t.sampled), uint64(id), 10)
	t.ids++
}

// AddLogprob adds the logprob of a sampled id. It is a JSON number, which is kept as the server spelled it.
func (t *TokenIDs) AddLogprob(logprob []byte) {
	t.logprobs = append(appendComma(t.logprobs), logprob...)
	t.numbers++
}

// Sampled returns the number of sampled ids.
func (t *TokenIDs) Sampled() int { return t.ids }

// Begun reports whether there are the prompt's ids and a sampled id.
func (t *TokenIDs) Begun() bool { return t.prompt != nil && t.ids > 0 }

// Complete reports whether the prompt's ids are there, and a logprob for each sampled id.
func (t *TokenIDs) Complete() bool { return t.prompt != nil && t.ids == t.numbers }

// appendComma begins an element of an array that has no end yet.
func appendComma(dst []byte) []byte {
	if len(dst) == 0 {
		return append(dst, '[')
	}
	return append(dst, ',')
}

// maxTokenIDs is the maximum length of the ids and logprobs of an answer, in bytes of JSON. A full context of 131,072
// tokens takes less than half of it.
const maxTokenIDs = 8 << 20

// maxIDText is the maximum length of an id in an array, in bytes.
const maxIDText = 7

// Full reports whether they take more memory than is allowed. A nil t takes none.
func (t *TokenIDs) Full() bool { return t.size() > maxTokenIDs }

// size returns the length of the members, in bytes of JSON.
func (t *TokenIDs) size() int {
	if t == nil {
		return 0
	}
	return len(t.prompt)*maxIDText + len(t.sampled) + len(t.logprobs)
}

// members returns what the client gets. It may be called once, at the end of the answer. For a nil t it returns nil.
func (t *TokenIDs) members() *openai.TokenIDs {
	if t == nil {
		return nil
	}
	return openai.NewTokenIDs(rawjson.AppendIDs(nil, t.prompt), appendEnd(t.sampled), appendEnd(t.logprobs))
}

func appendEnd(array []byte) []byte {
	if len(array) == 0 {
		array = append(array, '[')
	}
	return append(array, ']')
}
