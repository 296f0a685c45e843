package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
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

// trace collects the ids and logprobs that an event of a server that answers in text has beside its text.
func (g *generation) trace(event *backend.Event) *openai.Error {
	ids := g.traced
	if len(event.PromptIDs) > 0 {
		ids.SetPrompt(event.PromptIDs)
	}
	if event.Index != 0 || g.choices[0].finish != backend.Running {
		return nil
	}
	for _, id := range event.SampledIDs {
		ids.Add(id)
	}
	for i := range event.TextLogprobs {
		ids.AddLogprob(event.TextLogprobs[i].Logprob)
	}
	switch {
	case ids.Sampled() > g.maxTokens+maxOvershoot:
		return errNotUnderstood()
	case ids.Full():
		return errAnswerTooLarge(g.api, g.translated.Stream)
	case sizeOf(event) > 0 && !ids.Begun(), event.Finish.Regular() && !ids.Complete():
		return errNoTokenIDs()
	}
	if len(event.SampledIDs) > 0 {
		g.idleEvents = 0
	}
	return nil
}

// errNoTokenIDs is for a server that takes conversations and does not say which tokens it has read and generated.
func errNoTokenIDs() *openai.Error {
	return &openai.Error{
		Status: 502, Type: contract.ServerErrorType, Code: contract.CodeServerError,
		Message: "The inference server does not send the ids of the prompt, the ids of its tokens and their logprobs, as " +
			"its operator's setting answers.token_ids needs. It must know return_token_ids.",
	}
}
