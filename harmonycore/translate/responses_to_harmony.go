package translate

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Responses reads a Responses body for a model. It makes the same conversation as [Chat]. The instructions come before
// the leading system and developer items. Every later item keeps its place.
func Responses(body *openai.Body, m *contract.Model, env Env) (*Request, *openai.Error) {
	recalled := env.recallTools(body, ResponsesAPI)
	in, err := openai.DecodeResponsesRequest(body)
	if err != nil {
		return nil, err
	}
	if in.Dropped.First != nil && m.UnsupportedContent != contract.ContentDrop {
		return nil, in.Dropped.First
	}
	if in.MessagesAt != "" && !m.Answers.HarmonyMessages {
		return nil, openai.NoMessages(in.MessagesAt)
	}
	r := &Request{
		API: ResponsesAPI, Model: in.Model, Stream: in.Stream, Choices: 1,
		UnknownItems: in.UnknownItems, DroppedParts: in.Dropped.Count, Logprobs: in.Logprobs, TopLogprobs: in.TopLogprobs,
		answers: m.Answers, reasoning: reasoningFields(&m.Answers), env: env,
		oneCall: in.OneCall, sealed: in.SealedReasoning, wantsSampled: in.SampledIDs, echo: in.Echo,
		messages: in.MessagesAt != "",
	}
	r.keepTokenIDs(m)
	if err := in.Sampling.Salted(m.ServerExtras); err != nil {
		return nil, err
	}
	if err := r.setSampling(&in.Sampling, m); err != nil {
		return nil, err
	}
	r.echo.Complete(&r.Sampling)
	if r.effort, err = effortOf(m, in.Effort, "reasoning.effort"); err != nil {
		return nil, err
	}
	r.MaxReasoning = reasoningLimit(m, in.Sampling.ThinkingBudget)
	builtIns := newBuiltInTools(in)
	r.tools = newToolset(in.Tools)
	known := &schemas{declared: in.Tools}
	r.Constraint = r.tools.constraint(known, &in.Choice, &in.Format)
	if err := r.Constraint.enforceable(); err != nil {
		return nil, err
	}
	instructions := []string{in.Instructions}
	first := 0
	for first < len(in.Input) && in.Input[first].Kind == openai.ItemMessage && isInstructions(in.Input[first].Role) {
		instructions = append(instructions, strings.Join(in.Input[first].Content, ""))
		first++
	}
	var section *harmony.ToolSection
	if !r.messages { // a response with messages has the tools in full
		section = recalled.section(in.Tools, in.Echo.Tools, &in.Choice)
	}
	b := newBuilder(m, &env)
	b.builtIns = builtIns
	r.asSampled = b.asSampled
	b.head(m, env, r.effort, instructions, r.tools.declaration(known, section), &in.Format)
	if in.Truncate {
		b.turns = turns{len(b.messages)}
	}
	renamed := r.tools.renamed()
	for i := range in.Input {
		item := &in.Input[i]
		if item.Kind == openai.ItemCall {
			b.calls.add(item.CallID, b.called(item, renamed))
		}
		if endsCalls(item) {
			b.calls.interrupt()
		}
	}
	for i := first; i < len(in.Input); i++ {
		if err := r.checkTokenIDs(in.Input[i].TokenIDs, "input", in.Input[i].Index); err != nil {
			return nil, err
		}
		if err := b.item(in.Input, i, r, renamed); err != nil {
			return nil, err
		}
	}
	r.Conversation.Messages, r.Turns = b.messages, b.turns
	return r, nil
}

// endsCalls reports whether calls after an item are of another run than those before it.
func endsCalls(item *openai.InputItem) bool {
	switch item.Kind {
	case openai.ItemCall:
		return item.Answered
	case openai.ItemMessage:
		return item.Role != openai.RoleAssistant
	default:
		return item.Kind == openai.ItemCallOutput
	}
}

func (b *builder) item(input []openai.InputItem, i int, r *Request, renamed renamedTools) *openai.Error {
	item := &input[i]
	at := "input[" + strconv.Itoa(item.Index) + "]"
	switch item.Kind {
	case openai.ItemReasoning:
		if err := b.reasoning(item, at, r); err != nil {
			return err
		}
	case openai.ItemCall:
		tool := b.called(item, renamed)
		b.call(tool, item.Arguments, item.Custom)
		b.endTurn(item, r)
		if item.Answered {
			b.addResult(tool, item.Content)
		}
		return nil
	case openai.ItemCallOutput:
		return b.result(item.CallID, item.Content, at+".call_id")
	default:
		switch item.Role {
		case openai.RoleUser:
			b.user("", item.Content)
			return nil
		case openai.RoleAssistant:
			channel := harmony.Final
			if isPreamble(input, i) {
				channel = harmony.Commentary
			}
			b.assistant(channel, item.Content)
		default:
			b.addInstructions(strings.Join(item.Content, ""))
			return nil
		}
	}
	b.endTurn(item, r)
	return nil
}

// isPreamble reports whether the assistant's text at i led to a call. Its phase says which it is. Many clients drop the
// phase: then it is a preamble if a call comes next.
func isPreamble(input []openai.InputItem, i int) bool {
	switch input[i].Phase {
	case openai.PhaseCommentary:
		return true
	case openai.PhaseFinalAnswer:
		return false
	}
	for i++; i < len(input) && input[i].Kind == openai.ItemReasoning; i++ {
	}
	return i < len(input) && input[i].Kind == openai.ItemCall
}
