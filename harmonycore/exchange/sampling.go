package exchange

import (
	"slices"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// gptOSS is how gpt-oss samples when the client says nothing. It is sent, since servers have defaults of their own.
const gptOSS translate.Number = "1"

// samplingOf is the client's sampling as servers are asked for it, for an answer of at most maxTokens.
func samplingOf(s *translate.Sampling, maxTokens int) (backend.Sampling, *openai.Error) {
	out := backend.Sampling{
		Temperature: string(s.Temperature), TopP: string(s.TopP),
		PresencePenalty: string(s.PresencePenalty), FrequencyPenalty: string(s.FrequencyPenalty), Seed: string(s.Seed),
	}
	if s.Temperature == "" {
		out.Temperature = string(gptOSS)
	}
	if s.TopP == "" {
		out.TopP = string(gptOSS)
	}
	if s.MinTokens > maxTokens {
		return out, openai.Invalid("min_tokens", "Invalid 'min_tokens': the answer has room for "+
			strconv.Itoa(maxTokens)+" tokens only.")
	}
	for i := range s.LogitBias {
		b := &s.LogitBias[i]
		param := "logit_bias." + strconv.FormatUint(uint64(b.Token), 10)
		if failure := checkToken(param, b.Token); failure != nil {
			return out, failure
		}
		if tokenizer.IsSpecial(b.Token) {
			return out, openai.Invalid(param, "Invalid '"+param+
				"': control tokens cannot be biased, since the format of the answer hangs on them.")
		}
		out.LogitBias = append(out.LogitBias, backend.Bias{Token: b.Token, Value: string(b.Value)})
	}
	for i, id := range s.StopTokenIDs {
		if failure := checkToken("stop_token_ids["+strconv.Itoa(i)+"]", id); failure != nil {
			return out, failure
		}
	}
	for _, extra := range s.Extras {
		out.Extras = append(out.Extras, backend.Member{Name: extra.Name, JSON: extra.JSON})
	}
	return out, nil
}

func checkToken(param string, id uint32) *openai.Error {
	if id < tokenizer.LastSpecial {
		return nil
	}
	return openai.Invalid(param, "Invalid '"+param+"': the model's tokens have the ids from 0 to "+
		strconv.Itoa(tokenizer.LastSpecial-1)+".")
}

// stopTokens are the ends of the format and after them the client's own, never the client's instead. The silent ones
// end the answer without being a part of it, as servers have it with a client's stops; control tokens mean what they
// mean.
func stopTokens(asked []uint32) (all, silent []uint32) {
	all = []uint32{tokenizer.Return, tokenizer.Call}
	for _, id := range asked {
		if slices.Contains(all, id) {
			continue
		}
		all = append(all, id)
		if !tokenizer.IsSpecial(id) {
			silent = append(silent, id)
		}
	}
	return all, silent
}
