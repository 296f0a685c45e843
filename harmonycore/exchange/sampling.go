package exchange

import (
	"slices"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// gptOSS is the temperature and top_p of gpt-oss for requests without them. It is sent because servers have other
// defaults.
const gptOSS translate.Number = "1"

// samplingOf returns the client's sampling in the form that servers get, for an answer of at most maxTokens.
func samplingOf(s *translate.Sampling, maxTokens int) (backend.Sampling, *openai.Error) {
	out := openSampling(s)
	if s.Temperature == "" {
		out.Temperature = string(gptOSS)
	}
	if s.TopP == "" {
		out.TopP = string(gptOSS)
	}
	if s.MinTokens > maxTokens {
		return out, errMinTokens(maxTokens)
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
	}
	for i, id := range s.StopTokenIDs {
		if failure := checkToken("stop_token_ids["+strconv.Itoa(i)+"]", id); failure != nil {
			return out, failure
		}
	}
	return out, nil
}

func errMinTokens(room int) *openai.Error {
	return openai.Invalid("min_tokens", "Invalid 'min_tokens': the answer has room for "+strconv.Itoa(room)+" tokens only.")
}

// openSampling returns the client's sampling as it stands. The tokens that it names are in the model's own
// vocabulary, and servers choose what it leaves out.
func openSampling(s *translate.Sampling) backend.Sampling {
	out := backend.Sampling{
		Temperature: string(s.Temperature), TopP: string(s.TopP),
		PresencePenalty: string(s.PresencePenalty), FrequencyPenalty: string(s.FrequencyPenalty), Seed: string(s.Seed),
	}
	for i := range s.LogitBias {
		out.LogitBias = append(out.LogitBias, backend.Bias{Token: s.LogitBias[i].Token, Value: string(s.LogitBias[i].Value)})
	}
	for _, extra := range s.Extras {
		out.Extras = append(out.Extras, backend.Member{Name: extra.Name, JSON: extra.JSON})
	}
	return out
}

// appendRest adds the operator's other members to a request, which is a JSON object.
func appendRest(body []byte, model *Model) []byte {
	if model.defaults == nil {
		return body
	}
	return append(append(body[:len(body)-1], model.defaults.Rest()...), '}')
}

func checkToken(param string, id uint32) *openai.Error {
	if id < tokenizer.LastSpecial {
		return nil
	}
	return openai.Invalid(param, "Invalid '"+param+"': the model's tokens have the ids from 0 to "+
		strconv.Itoa(tokenizer.LastSpecial-1)+".")
}

// stopTokens returns the format's ends and after them the client's own. The client's never replace the format's. silent
// are those that end the answer without being part of it, as a client's stops do at servers. Control tokens keep their
// meaning and are not silent.
func stopTokens(requested []uint32) (all, hidden []uint32) {
	all = []uint32{tokenizer.Return, tokenizer.Call}
	for _, id := range requested {
		if slices.Contains(all, id) {
			continue
		}
		all = append(all, id)
		if !tokenizer.IsSpecial(id) {
			hidden = append(hidden, id)
		}
	}
	return all, hidden
}
