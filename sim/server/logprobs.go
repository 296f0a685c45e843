package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/gptoss"
)

// MaxLogprobs is vLLM's default for --max-logprobs.
const MaxLogprobs = 20

// Logprobs is the object of the legacy completions API, with an element for each token.
type Logprobs struct {
	TextOffset    []int             `json:"text_offset"`
	TokenLogprobs []float64         `json:"token_logprobs"`
	Tokens        []string          `json:"tokens"`
	TopLogprobs   []json.RawMessage `json:"top_logprobs"`
}

// checkLogprobs is the engine's check of the number of logprobs. -1 asks for the whole vocabulary, which the default
// limit forbids.
func checkLogprobs(c *Completion) *Refusal {
	if c.Logprobs == nil {
		return nil
	}
	n := *c.Logprobs
	if n == -1 {
		n = tokenizer.LastSpecial
	}
	switch {
	case n < 0:
		return BadRequest("logprobs", fmt.Sprintf("logprobs must be non-negative or -1, got %d. (parameter=logprobs, "+
			"value=%d)", n, n))
	case n > MaxLogprobs:
		return BadRequest("logprobs", fmt.Sprintf("Requested sample logprobs of %d, which is greater than max allowed: %d "+
			"(parameter=logprobs, value=%d)", n, MaxLogprobs, n))
	}
	return nil
}

// Logprobs returns the logprobs of the tokens from..to. It returns nil if the request does not ask for them: the member
// is then null rather than an object.
func (j *Job) Logprobs(from, to int) any {
	if j.Asked.Logprobs == nil {
		return nil
	}
	l := &Logprobs{TextOffset: []int{}, TokenLogprobs: []float64{}, Tokens: []string{}, TopLogprobs: []json.RawMessage{}}
	offset := 0
	for _, text := range j.Answer.Texts[:from] {
		offset += utf8.RuneCountInString(text)
	}
	for at := from; at < to; at++ {
		token := j.TokenName(j.Answer.IDs[at])
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

// TokenName returns the name of a token: its text, which several tokens may share, or its id.
func (j *Job) TokenName(id uint32) string {
	if IsTrue(j.Asked.TokensAsTokenIDs) {
		return fmt.Sprintf("token_id:%d", id)
	}
	b, _ := j.Server.Tokenizer.TokenBytes(id)
	return gptoss.Lossy(b)
}

// distribution returns the logprob of the token at a place, and the alternatives. The token itself comes first.
func (j *Job) distribution(at int) (sampled float64, top json.RawMessage) {
	_, sampled, all := Alternatives(j.Answer.IDs[at], j.begun+at, *j.Asked.Logprobs)
	var b bytes.Buffer
	seen := map[string]bool{}
	for _, a := range append([]Alternative{{j.Answer.IDs[at], sampled}}, all...) {
		name := j.TokenName(a.Token)
		if seen[name] {
			continue // a Python dict has every key once
		}
		seen[name] = true
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%g", MustJSON(name), a.Logprob)
	}
	return sampled, []byte("{" + b.String() + "}")
}
