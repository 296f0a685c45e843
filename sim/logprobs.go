package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// maxLogprobs is vLLM's default for --max-logprobs.
const maxLogprobs = 20

// logprobs is the object of the legacy completions API, with an element for each token.
type logprobs struct {
	TextOffset    []int             `json:"text_offset"`
	TokenLogprobs []float64         `json:"token_logprobs"`
	Tokens        []string          `json:"tokens"`
	TopLogprobs   []json.RawMessage `json:"top_logprobs"`
}

// checkLogprobs is the engine's check of the number of logprobs. -1 asks for the whole vocabulary, which the default
// limit forbids.
func checkLogprobs(c *completion) *refusal {
	if c.Logprobs == nil {
		return nil
	}
	n := *c.Logprobs
	if n == -1 {
		n = tokenizer.LastSpecial
	}
	switch {
	case n < 0:
		return badRequest("logprobs", fmt.Sprintf("logprobs must be non-negative or -1, got %d. (parameter=logprobs, "+
			"value=%d)", n, n))
	case n > maxLogprobs:
		return badRequest("logprobs", fmt.Sprintf("Requested sample logprobs of %d, which is greater than max allowed: %d "+
			"(parameter=logprobs, value=%d)", n, maxLogprobs, n))
	}
	return nil
}

// logprobs returns the logprobs of the tokens from..to. It returns nil if the request does not ask for them: the member
// is then null rather than an object.
func (j *job) logprobs(from, to int) any {
	if j.c.Logprobs == nil {
		return nil
	}
	l := &logprobs{TextOffset: []int{}, TokenLogprobs: []float64{}, Tokens: []string{}, TopLogprobs: []json.RawMessage{}}
	offset := 0
	for _, text := range j.gen.texts[:from] {
		offset += utf8.RuneCountInString(text)
	}
	for at := from; at < to; at++ {
		token := j.tokenName(j.gen.ids[at])
		sampled, top := j.distribution(at)
		l.TextOffset = append(l.TextOffset, offset)
		l.TokenLogprobs = append(l.TokenLogprobs, sampled)
		l.Tokens = append(l.Tokens, token)
		l.TopLogprobs = append(l.TopLogprobs, top)
		// Offsets grow by the lengths of the names, not of the text, as in vLLM.
		offset += utf8.RuneCountInString(token)
	}
	return l
}

// tokenName returns the name of a token: its text, which several tokens may share, or its id.
func (j *job) tokenName(id uint32) string {
	if isTrue(j.c.TokensAsTokenIDs) {
		return fmt.Sprintf("token_id:%d", id)
	}
	b, _ := j.s.tok.TokenBytes(id)
	return lossy(b)
}

// distribution returns the logprob of the token at a place, and the alternatives. The token itself comes first.
func (j *job) distribution(at int) (sampled float64, top json.RawMessage) {
	_, sampled, all := alternatives(j.gen.ids[at], at, *j.c.Logprobs)
	var b bytes.Buffer
	seen := map[string]bool{}
	for _, a := range append([]Alternative{{j.gen.ids[at], sampled}}, all...) {
		name := j.tokenName(a.Token)
		if seen[name] {
			continue // a Python dict has every key once
		}
		seen[name] = true
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%g", mustJSON(name), a.Logprob)
	}
	return sampled, []byte("{" + b.String() + "}")
}
