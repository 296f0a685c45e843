package translate

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

func (r *Request) chatHead() openai.ChatHead {
	return openai.ChatHead{ID: "chatcmpl-" + r.env.ID, Created: r.env.Now, Model: r.Model, TierRequested: r.tierRequested}
}

func (t *turn) finishReason(f Finish) string {
	switch {
	case f == Length:
		return openai.FinishLength
	case f == Repetition:
		return openai.FinishRepetition
	case f == Filtered:
		return openai.FinishFiltered
	case t.tally.Calls > 0:
		return openai.FinishToolCalls
	default:
		return openai.FinishStop
	}
}

// visible returns the usage in the client's form. reasoning is the number of reasoning tokens in all choices.
func (u Usage) visible(reasoning int) openai.Usage {
	if u.ReasoningKnown {
		reasoning = u.ReasoningTokens
	} else if u.ReasoningEstimated {
		reasoning = min(reasoning, u.CompletionTokens)
	}
	return openai.Usage{
		PromptTokens: u.PromptTokens, CachedTokens: u.CachedTokens, CachedKnown: u.CachedKnown,
		CompletionTokens: u.CompletionTokens, ReasoningTokens: reasoning,
	}
}

// callID returns the id of the call with this index. A stream and a whole answer have the same ids.
func callID(env Env, index int) string {
	return "call_" + env.ID + "_" + strconv.Itoa(index)
}

func callKind(t *shownTool) openai.CallKind {
	if t.custom {
		return openai.CustomCall
	}
	return openai.FunctionCall
}

// callIDIn is callID for the choice with this index. Ids differ between choices, because clients join the messages of
// several choices in one conversation.
func callIDIn(env Env, choice, index int) string {
	if choice == 0 {
		return callID(env, index)
	}
	return "call_" + env.ID + "_" + strconv.Itoa(choice) + "_" + strconv.Itoa(index)
}
