package exchange

import (
	"cmp"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// isStrict reports whether the answer ends at the first error that the reference would report.
func (g *generation) isStrict(model *Model) bool { return g.x.options.strict || model.Answers.Strict }

// checkKind refuses what the request asks for and the model's kind of server cannot do (docs/servers.md).
func (g *generation) checkKind(model *Model, r *translate.Request) *openai.Error {
	kind := model.Kind.Facts()
	servers := "The model's servers (" + kind.Name + ")"
	switch {
	case kind.TextAnswers && g.x.options.strict:
		return openai.Unsupported(contract.StrictHeader, "Unsupported header: '"+contract.StrictHeader+"'. "+servers+
			" answer in text, which cannot be checked as the reference checks token ids. Leave the header out.")
	case kind.TextAnswers && model.Answers.Strict:
		return openai.Unsupported("model", "Unsupported model: its operator set answers.strict. "+servers+
			" answer in text, which cannot be checked as the reference checks token ids.")
	case !kind.Logprobs && r.Logprobs:
		param := "logprobs"
		if g.api == translate.ResponsesAPI {
			param = "include"
		}
		return openai.Unsupported(param, "Unsupported parameter: '"+param+"'. "+servers+" do not send logprobs.")
	case !kind.StopTokens && len(r.Sampling.StopTokenIDs) > 0:
		return openai.Unsupported("stop_token_ids", "Unsupported parameter: 'stop_token_ids'. "+servers+
			" do not end answers at token ids. Use 'stop'.")
	case !kind.Biases && len(r.Sampling.LogitBias) > 0:
		return openai.Unsupported("logit_bias", "Unsupported parameter: 'logit_bias'. "+servers+" do not bias tokens.")
	case !kind.Choices && r.Choices > 1:
		return &openai.Error{
			Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeChoicesNotSupported, Param: "n",
			Message: servers + " generate one answer for a request. Send one request for each choice.",
		}
	}
	return cmp.Or(checkExtras(kind, servers, r), checkTokenIDs(model, r))
}

// checkExtras refuses parameters of servers that the kind does not have. Left out silently, a cache_salt would no
// longer keep a tenant's prompts apart from another's.
func checkExtras(kind *contract.Kind, servers string, r *translate.Request) *openai.Error {
	for i := range r.Sampling.Extras {
		name := r.Sampling.Extras[i].Name
		if !kind.Scheduling && (name == "priority" || name == "cache_salt") || !kind.MinTokens && name == "min_tokens" {
			return openai.Unsupported(name, "Unsupported parameter: '"+name+"'. "+servers+" do not have it.")
		}
	}
	return nil
}
